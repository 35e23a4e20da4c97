/* SPDX-License-Identifier: MIT */
/* Writes what recording took: front-ends show it in the panel about the profile. */
#include "lib/format/firefox/write/internal.h"

static void write_numbers(struct jsonw *w, const char *const *names, const uint64_t *millionths,
			  size_t count)
{
	jsonw_object_begin(w);
	for (size_t i = 0; i < count; i++) {
		jsonw_key(w, names[i]);
		jsonw_ms(w, millionths[i]);
	}
	jsonw_object_end(w);
}

/* Front-ends need the table of samples, but do not show it. */
static void write_no_samples(struct jsonw *w)
{
	static const char *const columns[] = {"counters", "expiredMarkerCleaning", "locking",
					      "threads", "time"};

	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		jsonw_key(w, columns[i]);
		jsonw_array_begin(w);
		jsonw_array_end(w);
	}
	jsonw_key(w, "length");
	jsonw_u64(w, 0);
	jsonw_object_end(w);
}

static void write_statistics(const struct profile_overhead *o, struct jsonw *w, const char *pid)
{
	jsonw_key(w, "profilerOverhead");
	jsonw_array_begin(w);
	jsonw_object_begin(w);
	jsonw_key(w, "pid");
	jsonw_cstring(w, pid);
	jsonw_key(w, "mainThreadIndex");
	jsonw_u64(w, 0);
	write_no_samples(w);
	jsonw_key(w, "statistics");
	write_numbers(w, overhead_fields, o->statistics, OVERHEAD_FIELD_COUNT);
	jsonw_object_end(w);
	jsonw_array_end(w);
}

void firefox_write_overhead(const struct firefox *f, struct jsonw *w)
{
	const struct profile_overhead *o = &f->profile->overhead;
	char pid[FIREFOX_ID_SIZE];

	firefox_format_pid(pid, f->rows.list.items);
	if (o->has_statistics)
		write_statistics(o, w, pid);
	if (!o->has_log)
		return;
	jsonw_key(w, "profilingLog");
	jsonw_object_begin(w);
	jsonw_key(w, pid);
	write_numbers(w, recording_moments, o->log, MOMENT_COUNT);
	jsonw_object_end(w);
}
