/* SPDX-License-Identifier: MIT */
/*
 * Follows the recorded processes in order of time: turns forks, execs and mappings from different
 * rings into mapping and module records, and keeps the kernel's walker informed.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/code/span_files.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/perf/perf_event.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/unwind/unwinder.h"

struct cpu_limits;
struct filter;
struct tracker;

struct tracker_options {
	struct file_set *files; /* borrowed */
	struct programs *programs; /* borrowed */
	uint32_t unwind; /* set of UNWIND_BY_… flags */
	uint64_t unwind_bytes; /* limit for the size of unwind tables */
	uint64_t max_file; /* as in unwinder.h */
	const char *cache; /* as in unwinder.h */
	/* keep mounts below the roots of processes until the files are released */
	bool keep_mounts;
	const struct filter *filter; /* borrowed; NULL: container names are unknown */
	bool tells_resources; /* send a REC_RESOURCE for processes that have resource attributes */
	record_sink_fn *sink; /* receives the records */
	void *ctx;
};

int tracker_new(struct tracker **out, const struct tracker_options *options, struct error *err);
/* Accepts NULL. */
void tracker_free(struct tracker *t);
/* Like unwinder_set_runtimes(). Returns false if stacks are not unwound by tables. */
bool tracker_set_runtimes(struct tracker *t, const struct runtime_hooks *hooks);
/* Prepares for the files that a command will map. Call after tracker_set_runtimes(). */
void tracker_expect(struct tracker *t, char *const *argv);
/* Keeps the root of a process that interprets code, to find its sources there. */
void tracker_keep_root(struct tracker *t, uint32_t pid, uint64_t time);
/* Returns whether the process has anonymous executable memory at that address. */
bool tracker_is_generated(const struct tracker *t, struct live_process *process, uint64_t addr);
/* Readable when tracker_handle() has something to do; -1: never. */
int tracker_fd(const struct tracker *t);
/* The same, when a perf map has been written. */
int tracker_code_fd(const struct tracker *t);
/* Returns the interval in which tracker_handle() has to be called; UINT64_MAX: any. */
uint64_t tracker_interval_ns(const struct tracker *t);

/*
 * For parts that keep a state in each process, see live_process.h. Add listeners before the first
 * process.
 */
struct live_processes *tracker_processes(const struct tracker *t);
struct cpu_limits *tracker_cpu_limits(struct tracker *t);

/*
 * Callbacks for the files that processes map, called as soon as the tracker has them. All arguments
 * are borrowed. expect: a file that a command will map, open for reading, before await. await: a
 * process about to execute the command. map: a mapping of a followed process, of the module's file;
 * -1: it could not be opened.
 */
struct mapping_watcher {
	void (*expect)(void *ctx, int fd);
	void (*await)(void *ctx, uint32_t pid);
	void (*map)(void *ctx, const struct rec_map *map, int fd);
	void *ctx;
};

/* Copies the watcher, whose expect and await may be NULL. */
void tracker_watch_mappings(struct tracker *t, const struct mapping_watcher *watcher);

/* Returns the reader of marker files, which reads nothing until spans are requested. */
struct span_files *tracker_span_files(const struct tracker *t);

/* Sends the kernel's own modules and mappings. */
void tracker_send_kernel(struct tracker *t, uint64_t time);
/*
 * Follows this process, which is about to execute a program, and all its descendants. `flags` are
 * those of its name record: the filters' result until the exec.
 */
int tracker_await(struct tracker *t, uint32_t pid, uint8_t flags, uint64_t time, struct error *err);
/*
 * Follows a running process: reads its mappings and sends them as records of that time. Its events
 * from `since` on are in the rings; reading covers the earlier ones.
 */
int tracker_add(struct tracker *t, uint32_t pid, uint64_t since, uint64_t time, struct error *err);
/* Call it after the last of several tracker_add(). */
void tracker_added(struct tracker *t);
/* Returns whether the walker has all mappings so far, with their tables. */
bool tracker_is_warm(const struct tracker *t);

/* Waits for tables, at most max_ns. */
void tracker_wait(struct tracker *t, uint64_t max_ns);

/*
 * Begins a round at the time `now`. The caller then passes every event of the mapping rings and
 * every record of the others. goes_on: this round continues the previous one, which could not read
 * everything.
 */
void tracker_begin_round(struct tracker *t, uint64_t now, bool goes_on);
void tracker_map_event(void *tracker, const struct map_event *event);
void tracker_record(struct tracker *t, const struct rec *rec);
/*
 * Handles events older than `complete`, the start of the last round that could read everything: no
 * older event can still arrive. Others wait for the next round. Returns true if some should not
 * wait longer.
 */
bool tracker_handle(struct tracker *t, uint64_t complete);
/* Handles everything at the end, and waits for tables being compiled. */
void tracker_finish(struct tracker *t, uint64_t now);

/*
 * Drops files that nothing has mapped since then, so that a recording that keeps only its end does
 * not grow. Does nothing without unwind tables, which track the use of files.
 */
void tracker_forget_files(struct tracker *t, uint64_t since_ns, uint64_t now);
void tracker_get_stats(const struct tracker *t, struct unwinder_stats *stats);
void tracker_get_code_stats(const struct tracker *t, struct jit_files_stats *stats);
/* Appends the users who described too much code, as "user 4001"; nothing if there are none. */
void tracker_list_code_refused(const struct tracker *t, struct strbuf *out);
