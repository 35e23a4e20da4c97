/* SPDX-License-Identifier: MIT */
#include "lib/live/tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/code/jit_mappings.h"
#include "lib/live/code/span_files.h"
#include "lib/live/kernel/kernel_space.h"
#include "lib/live/kernel/kernel_modules.h"
#include "lib/live/process/command_files.h"
#include "lib/live/process/maps_walk.h"
#include "lib/live/process/container_watch.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/moved_code.h"
#include "lib/live/process/process_root.h"
#include "lib/live/process/running_name.h"
#include "lib/live/perf/event_queue.h"
#include "lib/stream/record/records.h"

/*
 * Further code that the kernel generates gets names only from the kernel's list, if it still exists
 * at the end.
 */
#define MAX_KERNEL_CODE 10000
/* Maximum of renamed processes that are looked up in /proc, per round. */
#define TITLES_MAX 64

struct tracker {
	struct tracker_options options;
	struct module_registry *modules;
	struct kernel_modules *kernel_modules;
	bool is_kernel_shown; /* kernel addresses are visible */
	struct unwinder *unwinder; /* NULL: unwinding does not use tables */
	struct live_processes *processes;
	struct process_roots roots;
	struct span_files *span_files;
	struct jit_descriptors *descriptors;
	struct jit_files *jit_files;
	struct jit_mappings jit_mappings;
	struct moved_code moved;
	uint64_t now; /* time of the current round */
	struct container_watch containers;
	struct resource_watch resources;
	struct event_queue queue;
	unsigned int kernel_code_count;
	unsigned int titles_left; /* remaining number of titles, initially TITLES_MAX */
	struct identity_cache scanned_files; /* used while processes are added */
	VEC(struct mapping_watcher) watchers;
};

static void take_module(struct tracker *t, const struct rec_module *module)
{
	jit_mappings_module(&t->jit_mappings, module);
	if (t->unwinder)
		unwinder_module(t->unwinder, module,
				file_set_find(t->options.files, module->module_id));
}

static void take_map(struct tracker *t, const struct rec_map *map)
{
	struct live_process *process = live_processes_find(t->processes, map->rec.pid, UINT64_MAX);

	if (!process)
		return;
	vec_for_each(&t->watchers, const struct mapping_watcher *, watcher)
		watcher->map(watcher->ctx, map, file_set_find(t->options.files, map->module_id));
	jit_mappings_map(&t->jit_mappings, process, map);
	if (!t->unwinder)
		return;
	moved_code_map(&t->moved, process, unwinder_mappings(t->unwinder, process), map);
	unwinder_map(t->unwinder, process, map);
}

/* Sends a file's mapping for memory that has its code. */
static void examine_moved(struct tracker *t, const struct rec *rec)
{
	const struct live_process *process = live_processes_find(t->processes, rec->pid,
								 UINT64_MAX);

	if (process)
		moved_code_poll(&t->moved, process, rec->time);
}

/* Passes on records made in user space, also to code files and the walker. */
static void sink(void *ctx, const struct rec *rec)
{
	struct tracker *t = ctx;

	if (rec->kind == REC_MODULE)
		take_module(t, (const struct rec_module *)rec);
	else if (rec->kind == REC_MAP && !(rec->flags & MAP_KERNEL_SPACE))
		take_map(t, (const struct rec_map *)rec);
	t->options.sink(t->options.ctx, rec);
	if (rec->kind == REC_MAP && t->moved.pieces.count)
		examine_moved(t, rec);
}

static void set_space(void *programs, uint32_t pid, const struct unwind_space *space)
{
	programs_set_space(programs, pid, space);
}

static int make_unwinder(struct tracker *t, struct error *err)
{
	const struct tracker_options *options = &t->options;
	struct unwinder_options unwinder = {
		.walker =
			{
				.rules = programs_unwind_rules(options->programs),
				.shards_fd = programs_unwind_shards_fd(options->programs),
				.set_space = set_space,
				.ctx = options->programs,
			},
		.processes = t->processes,
		.files = options->files,
		.methods = options->unwind,
		.max_bytes = options->unwind_bytes,
		.sink = sink,
		.ctx = t,
	};

	if (!unwinder.walker.rules)
		return error_set(err, -errno, "cannot map the unwind rules");
	unwinder.walker.first_shard_fd = programs_take_shard(options->programs);
	return unwinder_new(&t->unwinder, &unwinder, err);
}

static void on_code_piece(void *ctx, struct live_process *process, const struct code_piece *piece)
{
	struct tracker *t = ctx;

	unwinder_code(t->unwinder, process, piece);
}

static void on_code_described(void *ctx, struct live_process *process, uint64_t time)
{
	struct tracker *t = ctx;

	unwinder_described(t->unwinder, process, time);
}

static const char *find_symbol(void *programs, uint64_t addr)
{
	return programs_find_symbol(programs, addr);
}

int tracker_new(struct tracker **out, const struct tracker_options *options, struct error *err)
{
	struct tracker *t = xcalloc(1, sizeof(*t));
	int code = 0;

	t->options = *options;
	t->processes = live_processes_new();
	process_roots_init(&t->roots, t->processes, options->files, options->keep_mounts);
	container_watch_init(&t->containers, options->filter);
	t->modules = module_registry_new(options->files, sink, t);
	if (options->keep_mounts)
		module_registry_keep_mounts(t->modules);
	t->kernel_modules = kernel_modules_new(&(struct kernel_modules_options){
		.registry = t->modules,
		.sink = sink,
		.ctx = t,
		.dir = KERNEL_MODULES_DIR,
		.find_symbol = find_symbol,
		.find_ctx = options->programs,
	});
	t->span_files = span_files_new(t->processes);
	t->descriptors = jit_descriptors_new(t->processes, options->files);
	t->jit_files = jit_files_new(t->processes, options->sink, options->ctx);
	jit_files_follow_lists(t->jit_files, t->descriptors);
	t->jit_mappings = (struct jit_mappings){
		.files = options->files,
		.jit_files = t->jit_files,
		.descriptors = t->descriptors,
		.span_files = t->span_files,
		.roots = &t->roots,
	};
	span_files_set_jit_files(t->span_files, t->jit_files);
	moved_code_init(&t->moved, t->processes, options->files, sink, t);
	if (options->unwind & UNWIND_BY_CFI) {
		code = make_unwinder(t, err);
		jit_files_on_piece(t->jit_files, on_code_piece, on_code_described, t);
	}
	if (code) {
		tracker_free(t);
		return code;
	}
	*out = t;
	return 0;
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	live_processes_free(t->processes);
	event_queue_release(&t->queue);
	identity_cache_release(&t->scanned_files);
	unwinder_free(t->unwinder);
	kernel_modules_free(t->kernel_modules);
	module_registry_free(t->modules);
	jit_files_free(t->jit_files);
	jit_descriptors_free(t->descriptors);
	span_files_free(t->span_files);
	jit_mappings_release(&t->jit_mappings);
	moved_code_release(&t->moved);
	container_watch_release(&t->containers);
	vec_release(&t->watchers);
	free(t);
}

struct span_files *tracker_span_files(const struct tracker *t)
{
	return t->span_files;
}

struct live_processes *tracker_processes(const struct tracker *t)
{
	return t->processes;
}

struct cpu_limits *tracker_cpu_limits(struct tracker *t)
{
	return &t->containers.limits;
}

bool tracker_set_runtimes(struct tracker *t, const struct runtime_hooks *hooks)
{
	if (t->unwinder)
		unwinder_set_runtimes(t->unwinder, hooks);
	return t->unwinder;
}

void tracker_watch_mappings(struct tracker *t, const struct mapping_watcher *watcher)
{
	vec_push(&t->watchers, *watcher);
}

static void expect_file(void *ctx, int fd)
{
	struct tracker *t = ctx;

	if (t->unwinder)
		unwinder_expect(t->unwinder, fd);
	vec_for_each(&t->watchers, const struct mapping_watcher *, watcher) {
		if (watcher->expect)
			watcher->expect(watcher->ctx, fd);
	}
}

void tracker_expect(struct tracker *t, const char *command)
{
	if (t->unwinder || t->watchers.count)
		command_files_find(command, expect_file, t);
}

void tracker_keep_root(struct tracker *t, uint32_t pid, uint64_t time)
{
	struct live_process *process = live_processes_find(t->processes, pid, time);

	if (process)
		process_roots_keep_once(&t->roots, process);
}

int tracker_fd(const struct tracker *t)
{
	return t->unwinder ? unwinder_fd(t->unwinder) : -1;
}

int tracker_code_fd(const struct tracker *t)
{
	return jit_files_fd(t->jit_files);
}

uint64_t tracker_interval_ns(const struct tracker *t)
{
	return jit_files_is_due_soon(t->jit_files) ? JIT_FILES_SOON_MS * 1000000ull : UINT64_MAX;
}

void tracker_send_kernel(struct tracker *t, uint64_t time)
{
	_cleanup_free_ char *list = text_read_file(KERNEL_MODULES_LIST, KERNEL_MODULES_MAX, NULL);

	t->is_kernel_shown = kernel_space_send(t->modules, sink, t, time);
	kernel_modules_send_list(t->kernel_modules, list, time);
	kernel_code_send_loaded(t->modules, sink, t, time);
}

int tracker_await(struct tracker *t, uint32_t pid, uint8_t flags, uint64_t time, struct error *err)
{
	live_processes_add(t->processes, pid, 0);
	vec_for_each(&t->watchers, const struct mapping_watcher *, watcher) {
		if (watcher->await)
			watcher->await(watcher->ctx, pid);
	}
	return proc_walk_name(sink, t, pid, flags, time, err);
}

int tracker_add(struct tracker *t, uint32_t pid, uint64_t since, uint64_t time, struct error *err)
{
	live_processes_add(t->processes, pid, since);
	container_watch_send(&t->containers, pid, true, time, sink, t);
	if (t->options.tells_resources)
		resource_watch_send(&t->resources, pid, time, sink, t);
	if (t->unwinder)
		unwinder_take_tables(t->unwinder);
	return proc_walk_maps(t->modules, &t->scanned_files, sink, t, pid, time, err);
}

void tracker_added(struct tracker *t)
{
	identity_cache_release(&t->scanned_files);
}

bool tracker_is_warm(const struct tracker *t)
{
	return !t->unwinder || unwinder_is_settled(t->unwinder);
}

void tracker_wait(struct tracker *t, uint64_t max_ns)
{
	if (t->unwinder)
		unwinder_wait(t->unwinder, max_ns);
}

void tracker_begin_round(struct tracker *t, uint64_t now, bool goes_on)
{
	t->now = now;
	t->titles_left = TITLES_MAX;
	if (!goes_on)
		live_processes_next_round(t->processes, now);
}

void tracker_map_event(void *tracker, const struct map_event *event)
{
	struct tracker *t = tracker;

	event_queue_add(&t->queue, event, NULL);
}

/* Sorts forks and exits among the mappings, which may be in other rings. */
static void add_event(struct tracker *t, enum map_event_kind kind, const struct rec *rec,
		      uint32_t parent_pid)
{
	struct map_event event = {
		.kind = kind,
		.time = rec->time,
		.pid = rec->pid,
		.tid = rec->tid,
		.parent_pid = parent_pid,
	};

	event_queue_add(&t->queue, &event, NULL);
}

/*
 * Sends the properties that an exec may have changed. Skips processes that were read from /proc
 * after this record.
 */
static void describe(struct tracker *t, const struct rec *rec)
{
	const struct live_process *process = live_processes_find(t->processes, rec->pid,
								 UINT64_MAX);

	if (process && process->since > rec->time)
		return;
	if (rec->flags & NAME_MOVED)
		container_watch_send(&t->containers, rec->pid, false, rec->time, sink, t);
	if (t->options.tells_resources)
		resource_watch_send(&t->resources, rec->pid, rec->time, sink, t);
}

void tracker_record(struct tracker *t, const struct rec *rec)
{
	if (rec->kind == REC_FORK) {
		const struct rec_fork *fork = (const struct rec_fork *)rec;

		if (rec->pid != fork->parent_pid)
			add_event(t, MAP_EVENT_FORK, rec, fork->parent_pid);
	} else if (rec->kind == REC_EXIT && rec->flags & EXIT_PROCESS) {
		add_event(t, MAP_EVENT_EXIT, rec, 0);
	} else if (rec->kind == REC_NAME && rec->flags & NAME_EXEC) {
		describe(t, rec);
	} else if (rec->kind == REC_NAME && rec->pid == rec->tid && t->titles_left) {
		t->titles_left--;
		running_name_send_title((const struct rec_name *)rec, sink, t);
	} else if (rec->kind == REC_COPY && t->unwinder) {
		struct map_event event = {.time = rec->time, .pid = rec->pid};

		event_queue_add(&t->queue, &event, xmemdup(rec, record_size(rec)));
	} else if (rec->kind == REC_LOADED && t->is_kernel_shown) {
		kernel_modules_send_new(t->kernel_modules, (const struct rec_loaded *)rec);
	}
	kernel_modules_observe_record(t->kernel_modules, rec, t->now);
}

static void send_lost(struct tracker *t, const struct map_event *event)
{
	struct rec_lost lost = {.cause = LOST_MAPPING, .count = event->lost};

	record_init(&lost.rec, REC_LOST, sizeof(lost), event->time, 0, 0);
	lost.rec.cpu = (uint16_t)event->cpu;
	sink(t, &lost.rec);
}

static void send_new_space(struct tracker *t, const struct map_event *event)
{
	struct rec_name name = {0};

	record_init(&name.rec, REC_NAME, sizeof(name), event->time, event->pid, event->tid);
	name.rec.flags = NAME_NEW_SPACE;
	sink(t, &name.rec);
}

static void send_mapping(struct tracker *t, const struct map_event *event)
{
	struct rec_map map = {.start = event->start, .end = event->start + event->size};

	record_init(&map.rec, REC_MAP, sizeof(map), event->time, event->pid, event->tid);
	map.module_id = module_registry_resolve(t->modules, event);
	map.file_offset = map.module_id == NO_REC_MODULE ? event->start : event->file_offset;
	if (strcmp(event->path, "[vdso]") == 0)
		map.file_offset = 0;
	sink(t, &map.rec);
}

/* Handles an event of a followed process. */
static void take_own(struct tracker *t, struct live_process *process, const struct map_event *event)
{
	if (event->kind == MAP_EVENT_MAP) {
		send_mapping(t, event);
	} else {
		live_processes_exec(t->processes, process, event->time);
		send_new_space(t, event);
	}
}

static void take_fork(struct tracker *t, const struct map_event *event)
{
	struct live_process *child;

	live_processes_fork(t->processes, event->pid, event->parent_pid, event->time);
	child = live_processes_find(t->processes, event->pid, event->time);
	if (child && t->unwinder)
		unwinder_inherit_files(t->unwinder, t->modules, child, event->time);
}

/* Handles the start or end of a process. */
static bool take_life(struct tracker *t, const struct map_event *event)
{
	if (event->kind == MAP_EVENT_EXIT) {
		live_processes_exit(t->processes, event->pid, event->time);
	} else if (event->kind == MAP_EVENT_FORK) {
		take_fork(t, event);
	} else {
		return false;
	}
	return true;
}

static void take_turn(void *ctx, const struct map_event *event, struct rec_copy *copy)
{
	struct tracker *t = ctx;
	struct live_process *process;

	if (event->kind == MAP_EVENT_LOST) {
		send_lost(t, event);
	} else if (event->kind == MAP_EVENT_CODE) {
		if (t->kernel_code_count++ < MAX_KERNEL_CODE)
			kernel_code_send(t->modules, sink, t, event);
	} else if (copy) {
		process = live_processes_find(t->processes, event->pid, event->time);
		unwinder_copy(t->unwinder, process, copy, t->now);
		free(copy);
	} else if (!take_life(t, event)) {
		process = live_processes_find(t->processes, event->pid, event->time);
		if (process)
			take_own(t, process, event);
	}
}

/* Exits can wait: no sample depends on them. */
static bool is_behind(const struct tracker *t)
{
	vec_for_each(&t->queue.rows, const struct queued_event *, queued) {
		if (queued->event.kind != MAP_EVENT_EXIT)
			return true;
	}
	return false;
}

bool tracker_handle(struct tracker *t, uint64_t complete)
{
	event_queue_take(&t->queue, complete, take_turn, t);
	moved_code_poll(&t->moved, NULL, t->now);
	/* Passes code to the unwinder. */
	jit_files_poll(t->jit_files, t->now, complete);
	span_files_poll(t->span_files, t->now);
	if (t->unwinder)
		unwinder_flush(t->unwinder, t->now, false);
	return is_behind(t);
}

void tracker_finish(struct tracker *t, uint64_t now)
{
	event_queue_take(&t->queue, UINT64_MAX, take_turn, t);
	span_files_finish(t->span_files, now);
	jit_files_finish(t->jit_files, now);
	if (t->unwinder)
		unwinder_flush(t->unwinder, now, true);
}

void tracker_forget_files(struct tracker *t, uint64_t since_ns, uint64_t now)
{
	if (t->unwinder)
		unwinder_forget_files(t->unwinder, t->modules, since_ns, now);
}

void tracker_get_stats(const struct tracker *t, struct unwinder_stats *stats)
{
	*stats = (struct unwinder_stats){0};
	if (t->unwinder)
		unwinder_get_stats(t->unwinder, stats);
}

void tracker_get_code_stats(const struct tracker *t, struct jit_files_stats *stats)
{
	struct unwinder_stats unwinder;

	tracker_get_stats(t, &unwinder);
	jit_files_get_stats(t->jit_files, stats);
	stats->malformed += unwinder.malformed_pieces;
}
