/* SPDX-License-Identifier: MIT */
/*
 * What happens to the recorded processes, in order of time: forks, execs and mappings from
 * different rings become mapping and module records, and keep the walker in the kernel informed.
 */
#ifndef PROF_LIB_LIVE_TRACKER_H
#define PROF_LIB_LIVE_TRACKER_H

#include "bpf/record.h"
#include "lib/base/error.h"
#include "lib/base/file_set.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/perf/perf_event.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/unwind/unwinder.h"

struct tracker;

struct tracker_options {
	struct file_set *files; /* borrowed */
	struct programs *programs; /* borrowed */
	uint32_t unwind; /* UNWIND_BY_… */
	uint64_t unwind_bytes; /* ceiling for unwind tables */
	bool keep_mounts; /* below the roots of processes, until the files are let go */
	record_sink_fn *sink; /* where records go */
	void *ctx;
};

int tracker_new(struct tracker **out, const struct tracker_options *options, struct error *err);
/* NULL is fine. */
void tracker_free(struct tracker *t);
/* Readable when there is something to do for tracker_handle(); -1: never. */
int tracker_fd(const struct tracker *t);

/*
 * For whoever keeps a state in each process, see live_process.h: listeners are added before the
 * first process is.
 */
struct live_processes *tracker_processes(const struct tracker *t);

/* Sends the kernel's own modules and mappings. */
void tracker_send_kernel(struct tracker *t, uint64_t time);
/*
 * Follows this process, which is about to execute a program, and all its descendants. `flags` of
 * its name's record are what the filters say of it until then.
 */
int tracker_await(struct tracker *t, uint32_t pid, uint8_t flags, uint64_t time, struct error *err);
/*
 * Follows this process, which runs already: what it maps is read, and sent as records of that time.
 * Events from `since` on have been in the rings; what was before is known by reading.
 */
int tracker_add(struct tracker *t, uint32_t pid, uint64_t since, uint64_t time, struct error *err);
/* After the last of those that are added in one go. */
void tracker_added(struct tracker *t);
/* Does the walker know all that there is to know about the mappings so far? */
bool tracker_is_warm(const struct tracker *t);

/* For that, at most so long. */
void tracker_wait(struct tracker *t, uint64_t max_ns);

/*
 * A round: begin, at the time `now`, then every event that is in a mapping ring, every record that
 * is in the others. It goes on with the one before where that could not read everything.
 */
void tracker_begin_round(struct tracker *t, uint64_t now, bool goes_on);
void tracker_map_event(void *tracker, const struct map_event *event);
void tracker_record(struct tracker *t, const struct rec *rec);
/*
 * Handles what is older than `complete`, the moment before the first ring was read in the last
 * round that could read everything: there are no predecessors of it outside. The rest waits for the
 * next round; true: there is something that should not wait longer.
 */
bool tracker_handle(struct tracker *t, uint64_t complete);
/* Since this was asked last: was there anything about a process that is tracked? */
bool tracker_had_own_events(struct tracker *t);
/* At the end: everything, waiting for what is being compiled. */
void tracker_finish(struct tracker *t, uint64_t now);

void tracker_get_stats(const struct tracker *t, struct unwinder_stats *stats);
void tracker_get_code_stats(const struct tracker *t, struct jit_files_stats *stats);

#endif
