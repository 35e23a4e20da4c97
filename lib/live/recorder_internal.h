/* SPDX-License-Identifier: MIT */
/* Shared by recorder*.c. */
#pragma once

#include "lib/live/bpf/counter_reader.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/bpf/cpus.h"
#include "lib/live/instrument_set.h"
#include "lib/live/recorder.h"
#include "lib/live/perf/event_fds.h"
#include "lib/live/tracker.h"
#include "lib/live/machine/wakeup.h"
#include "lib/stream/record/merge.h"

enum recorder_phase {
	PHASE_RUNNING,
	PHASE_STOPPED, /* sampling has ended, but the rings are not drained yet */
	PHASE_DRAINED,
};

struct recorder {
	struct source source; /* first member, because a source is cast back to its recorder */
	struct recorder_options options;
	enum recorder_phase phase;
	bool idle_given; /* SOURCE_IDLE was returned after the last round */
	bool gives_records; /* records of the merge are being returned, until none is left */
	struct wakeup wakeup;
	struct programs *programs;
	struct cpu_set cpus;
	struct instrument_set instruments;
	struct counter_reader counters;
	struct throttling throttling;
	struct merge *merge;
	struct tracker *tracker;
	bool has_to_walk_proc; /* running processes are to be tracked */
	bool is_behind; /* events wait for the next round, so do not sleep */
	bool wants_pause; /* the last round showed that an immediate next one is useless */
	bool has_sampled; /* the last round received a sample */
	uint64_t round_ns; /* start of the last round */
	uint64_t complete_ns; /* start of the last round that could read everything */
	uint64_t next_housekeeping_ns, next_refresh_ns;
	uint64_t next_asked_ns; /* time from which recorder_is_asked() is true */
	uint64_t start_ns, start_realtime_ns, end_ns;
	bool is_paused;
	uint32_t mark_schema; /* schema id of recorder_mark(), plus 1; 0: not announced yet */
	uint64_t invalid_records;
};
