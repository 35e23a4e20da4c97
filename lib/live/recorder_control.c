/* SPDX-License-Identifier: MIT */
/* Tells a recorder what to track, and steers it while it records. */
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/live/bpf/program_costs.h"
#include "lib/live/process/filter.h"
#include "lib/live/recorder.h"
#include "lib/live/recorder_internal.h"
#include "lib/stream/record/marker_record.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/schema_record.h"

/* Descriptors that could not be watched are looked at this often. */
#define ASKED_NS 100000000ull

int recorder_track(struct recorder *r, pid_t pid, bool from_exec, struct error *err)
{
	int code = programs_track(r->programs, (uint32_t)pid, from_exec, err);

	if (!code && from_exec)
		code = tracker_await(r->tracker, (uint32_t)pid,
				     filter_pending_flags(r->options.filter), clock_monotonic_ns(),
				     err);
	r->has_to_walk_proc |= !from_exec;
	return code;
}

void recorder_expect(struct recorder *r, const char *command)
{
	tracker_expect(r->tracker, command);
}

void recorder_pause(struct recorder *r, bool pause)
{
	struct rec_setting rec = {.setting = SETTING_PAUSED, .value = pause};

	if (!r->start_ns || r->phase != PHASE_RUNNING || r->is_paused == pause)
		return;
	r->is_paused = pause;
	/* Before what comes first, or after what came last. */
	if (pause)
		instrument_set_pause(&r->instruments, true);
	record_init(&rec.rec, REC_SETTING, sizeof(rec), clock_monotonic_ns(), 0, 0);
	merge_add(r->merge, &rec.rec);
	if (!pause)
		instrument_set_pause(&r->instruments, false);
}

bool recorder_thin(struct recorder *r)
{
	return instrument_set_thin(&r->instruments);
}

uint64_t recorder_kernel_ns(struct recorder *r)
{
	uint32_t cpus = (uint32_t)r->counters.possible.count;
	_cleanup_free_ struct program_costs *costs = xcalloc(cpus, sizeof(*costs));
	uint64_t ns = 0;

	if (programs_read_costs(r->programs, costs))
		return 0;
	for (uint32_t i = 0; i < cpus; i++) {
		for (uint32_t program = 0; program < TIMED_PROGRAM_COUNT; program++)
			ns += program_cost_ns(&costs[i].of[program]);
	}
	return ns;
}

void recorder_mark(struct recorder *r, const char *text)
{
	uint64_t now = clock_monotonic_ns();
	struct marker_record marker = {.start = now, .end = now};
	_cleanup_free_ struct rec_schema *schema = NULL;
	_cleanup_free_ struct rec_marker *rec = NULL;

	if (!r->mark_schema) {
		r->mark_schema = instrument_new_schema(&r->instruments.live) + 1;
		schema = schema_record_new(marker_schema(MARKER_SNAPSHOT), r->mark_schema - 1, now);
		merge_add(r->merge, &schema->rec);
	}
	marker.schema = r->mark_schema - 1;

	marker_set_text(&marker, 0, marker_text(text));
	rec = marker_record_new(&marker);
	merge_add(r->merge, &rec->rec);
}

void recorder_stop(struct recorder *r)
{
	if (!r->start_ns || r->phase != PHASE_RUNNING)
		return;
	instrument_set_enable(&r->instruments, false, NULL);
	r->end_ns = clock_monotonic_ns();
	r->phase = PHASE_STOPPED;
}

int recorder_watch(struct recorder *r, int fd, struct error *err)
{
	int code = wakeup_watch(&r->wakeup, fd);

	return code ? error_set(err, code, "watch a descriptor") : 0;
}

void recorder_unwatch(struct recorder *r, int fd)
{
	wakeup_unwatch(&r->wakeup, fd);
}

bool recorder_is_asked(struct recorder *r)
{
	uint64_t now = clock_monotonic_ns();

	if (now < r->next_asked_ns && !wakeup_is_asked(&r->wakeup))
		return false;
	r->next_asked_ns = now + ASKED_NS;
	return true;
}
