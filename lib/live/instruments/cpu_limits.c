/* SPDX-License-Identifier: MIT */
/* Time for which CPU limits of control groups throttled the recorded processes. */
#include "lib/live/process/cgroup_limits.h"

#include "lib/live/instrument.h"
#include "lib/live/tracker.h"
#include "lib/stream/process/mapping.h"

#define SHOWN_MAX 3
/* Minimum share of throttled periods, in percent, for a group to be mentioned in the summary. */
#define TOLD_FROM 5
#define ID_SHOWN 12

struct limits {
	struct live *live;
	bool is_over;
};

static int enable(void *state, bool enable, struct error *err)
{
	struct limits *l = state;

	if (enable) {
		cpu_limits_begin(tracker_cpu_limits(l->live->tracker));
	} else if (!l->is_over) {
		l->is_over = true;
		cpu_limits_read_all(tracker_cpu_limits(l->live->tracker));
	}
	return 0;
}

static void count(void *state, uint64_t time)
{
	struct limits *l = state;

	if (!l->is_over)
		cpu_limits_read(tracker_cpu_limits(l->live->tracker), time);
}

/*
 * Adds "4b1a0d8704e5" for a container, otherwise the last part of the path, like the names of
 * processes.
 */
static void add_name(const struct cpu_limit *limit, struct strbuf *out)
{
	size_t size = strlen(limit->path);
	const char *id = cgroup_container_id(limit->path, size);
	const char *leaf = cgroup_leaf(limit->path, &size);

	if (id)
		strbuf_addf(out, "%.*s", ID_SHOWN, id);
	else
		strbuf_addf(out, "%.*s", (int)size, leaf);
}

static void report_facts(const struct cpu_limit *limit, struct facts *f)
{
	const struct cpu_limit_counts *counts = &limit->counts;
	const char *path = *limit->path ? limit->path : "/";
	_cleanup_free_ char *text = xasprintf("%" PRIu64 " of %" PRIu64 " periods, %.2f s",
					      counts->throttled, counts->periods,
					      (double)counts->throttled_ns / 1e9);

	facts_object(f, FACT_CPU_LIMITS);
	facts_count(f, FACT_CPU_LIMIT_PERIODS, path, counts->periods);
	facts_count(f, FACT_CPU_LIMIT_THROTTLED, path, counts->throttled);
	facts_count(f, FACT_CPU_LIMIT_THROTTLED_MS, path, counts->throttled_ns);
	if (counts->throttled)
		facts_text(f, FACT_CPU_LIMIT_TEXT, path, text);
}

ORDER(by_time, struct cpu_limit *const,
      COMPARE((*b)->counts.throttled_ns, (*a)->counts.throttled_ns))

static void report_lines(const struct cpu_limit **limits, size_t count, struct report *r)
{
	for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
		const struct cpu_limit_counts *counts = &limits[i]->counts;
		_cleanup_(strbuf_release) struct strbuf name = {0};

		if (counts->throttled * 100 < counts->periods * TOLD_FROM)
			continue;
		add_name(limits[i], &name);
		report_line(r,
			    "%s%sheld back by its CPU limit in %" PRIu64 " of %" PRIu64
			    " periods, %.2f s",
			    strbuf_text(&name), name.size ? ": " : "", counts->throttled,
			    counts->periods, (double)counts->throttled_ns / 1e9);
	}
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct limits *l = state;
	const struct cpu_limits none = {0};
	const struct cpu_limits *all = l->live->tracker ? tracker_cpu_limits(l->live->tracker)
							: &none;
	struct {
		VEC(const struct cpu_limit *) rows;
	} limited = {0};

	vec_for_each(&all->rows, const struct cpu_limit *, limit) {
		if (!limit->counts.periods)
			continue;
		report_facts(limit, &r->facts);
		vec_push(&limited.rows, limit);
	}
	/* Report only when the end is known, so that the line covers the whole recording. */
	if (l->is_over && limited.rows.count) {
		vec_sort(&limited.rows, by_time);
		report_lines(limited.rows.items, limited.rows.count, r);
	}
	vec_release(&limited.rows);
}

const struct instrument instrument_cpu_limits = {
	.name = "cpu limits",
	.state_size = sizeof(struct limits),
	.enable = enable,
	.count = count,
	.report = report,
};
