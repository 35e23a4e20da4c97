/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/unwinder.h"

#include <bpf/bpf.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "lib/code/unwind/native/deferred_unwind.h"
#include "lib/code/unwind/native/stack_finisher.h"
#include "lib/code/unwind/native/table_cache.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/unwind/spaces.h"
#include "lib/stream/process/mapping.h"

/* Shards for the kernel's walker: maps in its array, mapped into this process. */

struct kernel_shards {
	int maps_fd; /* the walker's array of shards, borrowed */
	VEC(int) fds; /* by the shard's number; owned */
};

/* Takes over first_fd, the descriptor of shard 0 if it is in the array already; -1: it is not. */
static void kernel_shards_init(struct kernel_shards *k, int maps_fd, int first_fd)
{
	*k = (struct kernel_shards){.maps_fd = maps_fd};
	if (first_fd >= 0)
		vec_push(&k->fds, first_fd);
}

/* Adds a new map to the walker's array. Returns its descriptor, negative with errno set. */
static int add_map(struct kernel_shards *k, uint32_t id)
{
	int fd = shard_make(UNWIND_SHARD_BYTES);

	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	if (bpf_map_update_elem(k->maps_fd, &id, &fd, BPF_ANY)) {
		close(fd);
		return -1;
	}
	vec_push(&k->fds, fd);
	return fd;
}

static uint32_t *make(void *ctx, uint32_t id)
{
	struct kernel_shards *k = ctx;
	int fd = id < k->fds.count ? k->fds.items[id] : add_map(k, id);
	void *memory = MAP_FAILED;

	if (fd >= 0)
		memory = mmap(NULL, UNWIND_SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void drop(void *ctx, uint32_t id, uint32_t *words)
{
	munmap(words, UNWIND_SHARD_BYTES);
}

/* Drops files that nothing has mapped for long, in a recording that keeps only its end. */

struct forgetting {
	struct native_tables *tables;
	uint64_t now;
};

static bool is_used(void *ctx, uint32_t module_id, uint64_t since_ns)
{
	const struct forgetting *f = ctx;

	return native_tables_was_used(f->tables, module_id, since_ns);
}

static void forget(void *ctx, uint32_t module_id)
{
	const struct forgetting *f = ctx;

	native_tables_forget(f->tables, module_id, f->now);
}

static void unused_files_forget(const struct spaces *spaces, struct native_tables *tables,
				struct module_registry *files, uint64_t since_ns, uint64_t now)
{
	struct forgetting f = {tables, now};
	const struct module_users users = {is_used, forget, &f};

	spaces_use_tables(spaces, &tables->modules, now);
	module_registry_forget(files, since_ns, now, &users);
}

/* Tables of files unmapped for UNUSED_NS are dropped; checked every EVICTION_NS. */
#define UNUSED_NS 10000000000ull
#define EVICTION_NS 5000000000ull
#define FOREVER_NS (1ull << 60)
/*
 * Minimum time between descriptions of waiting spaces while tables are compiled, as a multiple of
 * the duration of the last description.
 */
#define DESCRIBE_SHARE 8
#define SPACE_WORDS (sizeof(struct unwind_mapping) / 4)

struct unwinder {
	struct walker_memory walker;
	struct kernel_shards shards;
	struct native_tables tables;
	struct table_cache *cache; /* NULL: none */
	struct table_pool *pool;
	int event_fd; /* for the pool's results */
	bool has_ready_tables; /* new tables are missing in all descriptions so far */
	uint64_t next_republish_ns;
	struct deferred_unwind *deferred;
	struct spaces spaces;
	VEC(uint32_t) unsubmitted; /* modules for which the pool had no room */
	struct native_space scratch;
	const struct file_set *files;
	uint64_t now; /* time of the last round */
	uint64_t stamp, refused, compiled, next_eviction_ns;
	uint32_t serial; /* of the last address space description */
	struct runtime_files runtimes;
};

static bool read_file(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size)
{
	const struct unwinder *u = ctx;
	int fd = file_set_find(u->files, module);

	return fd >= 0 && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static void init_tables(struct unwinder *u, uint64_t max_bytes)
{
	struct shard_source shards = (struct shard_source){make, drop, &u->shards};
	const struct native_tables_options options = {
		.shards = u->walker.shards_fd >= 0 ? &shards : NULL,
		.rules = u->walker.rules,
		.max_bytes = max_bytes,
		.machine = unwind_machine_own(),
	};

	kernel_shards_init(&u->shards, u->walker.shards_fd, u->walker.first_shard_fd);
	native_tables_init(&u->tables, &options);
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	/* A thread is stuck in a file that does not respond. */
	if (!table_pool_free(u->pool))
		return;
	table_cache_free(u->cache);
	fd_close(u->event_fd);
	deferred_unwind_free(u->deferred);
	vec_release(&u->spaces.dirty);
	vec_release(&u->unsubmitted);
	vec_release(&u->scratch.mappings.rows);
	runtime_files_release(&u->runtimes);
	native_tables_release(&u->tables);
	vec_for_each(&u->shards.fds, const int *, fd)
		close(*fd);
	vec_release(&u->shards.fds);
	free(u);
}

int unwinder_fd(const struct unwinder *u)
{
	return u->event_fd;
}

/* Queues a file for compiling. False: no file, or no descriptor for it. */
static bool submit(struct unwinder *u, uint32_t module_id, int fd)
{
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;

	if (copy < 0)
		return false;
	if (!table_pool_submit(u->pool, module_id, copy)) {
		close(copy);
		vec_push(&u->unsubmitted, module_id);
	}
	return true;
}

static void submit_again(struct unwinder *u)
{
	const struct unwind_table none = {0};
	size_t room = table_pool_room(u->pool), count = u->unsubmitted.count;

	if (!count || !room)
		return;
	count = MIN(count, room);
	for (size_t i = 0; i < count; i++) {
		uint32_t id = u->unsubmitted.items[i];

		if (submit(u, id, file_set_find(u->files, id)))
			continue;
		/* The file is gone, so there is no table. */
		module_tables_store(&u->tables.modules, id, &none);
		u->has_ready_tables = true;
	}
	u->unsubmitted.count -= count;
	memmove(u->unsubmitted.items, u->unsubmitted.items + count,
		u->unsubmitted.count * sizeof(*u->unsubmitted.items));
}

void unwinder_module(struct unwinder *u, const struct rec_module *rec, int fd)
{
	bool has_code = rec->kind == MODULE_FILE || rec->kind == MODULE_VDSO;
	bool is_pending = has_code && submit(u, rec->module_id, fd);

	module_tables_add(&u->tables.modules, rec, is_pending ? TABLE_PENDING : TABLE_NONE);
	if (rec->rec.flags & MODULE_COMPLETED)
		spaces_mark_module(&u->spaces, rec->module_id);
}

/* Compiles a dropped table again. */
static void resubmit(struct unwinder *u, uint32_t module_id)
{
	struct module_table *table;

	if (module_id >= u->tables.modules.rows.count)
		return;
	table = &u->tables.modules.rows.items[module_id];
	if (table->state == TABLE_DROPPED)
		table->state = submit(u, module_id, file_set_find(u->files, module_id))
				       ? TABLE_PENDING
				       : TABLE_NONE;
}

void unwinder_map(struct unwinder *u, struct live_process *process, const struct rec_map *rec)
{
	struct space *space = spaces_of(&u->spaces, process);
	struct mapping mapping = {
		.start = rec->start,
		.end = rec->end,
		.file_offset = rec->file_offset,
		.module = rec->module_id == NO_REC_MODULE ? MAPPING_ANON : rec->module_id,
	};

	resubmit(u, rec->module_id);
	if (!space->mappings)
		space->mappings = mapping_table_new();
	if (mapping_table_insert(&space->mappings, &mapping, ++u->stamp))
		spaces_mark_dirty(&u->spaces, process);
}

const struct mapping_table *unwinder_mappings(const struct unwinder *u,
					      struct live_process *process)
{
	return spaces_of(&u->spaces, process)->mappings;
}

/* Initializes a child, which waits for no code: pending code is only in the parent's dump. */
static void on_process_fork(void *ctx, struct live_process *process,
			    struct live_process *parent_process)
{
	struct unwinder *u = ctx;
	struct space *child = spaces_of(&u->spaces, process), *parent;

	spaces_mark_dirty(&u->spaces, process);
	if (!parent_process)
		return;
	parent = spaces_of(&u->spaces, parent_process);
	if (parent->mappings)
		child->mappings = mapping_table_hold(parent->mappings);
	child->code = jit_code_fork(parent->code);
	child->is_partial = parent->is_partial;
}

/* Ends the waiting of the process's stacks for code. */
static void finish_all(struct unwinder *u, const struct live_process *process, struct space *space)
{
	if (!space->oldest_copy)
		return;
	jit_tables_store(&u->tables.jit, space->code, u->now);
	deferred_unwind_finish(u->deferred, process->pid, FOREVER_NS, u->now);
	space->oldest_copy = 0;
}

static void on_process_exec(void *ctx, struct live_process *process, uint64_t time)
{
	struct unwinder *u = ctx;
	struct space *space = spaces_of(&u->spaces, process);

	space->execs++;
	space->is_partial = false;
	vec_clear(&space->runtimes.rows);
	space_await_code(space, false);
	/* The old program describes no more code. */
	finish_all(u, process, space);
	jit_tables_drop(&u->tables.jit, steal(space->code));
	if (space->mappings)
		mapping_table_drop(steal(space->mappings));
	spaces_mark_dirty(&u->spaces, process);
}

static void on_process_exit(void *ctx, struct live_process *process, uint64_t time)
{
	struct unwinder *u = ctx;

	u->walker.set_space(u->walker.ctx, process->pid, NULL);
	finish_all(u, process, spaces_of(&u->spaces, process));
}

static void release_space(void *ctx, struct live_process *process)
{
	struct unwinder *u = ctx;
	struct space *space = spaces_of(&u->spaces, process);

	jit_tables_drop(&u->tables.jit, space->code);
	deferred_free_add(&u->tables.garbage, &space->piece, 0);
	runtime_files_forget(&u->runtimes, process);
	vec_release(&space->runtimes.rows);
	spaces_forget(&u->spaces, process);
}

static void finish_until(struct unwinder *u, const struct live_process *process,
			 struct space *space, uint64_t before)
{
	if (!space->oldest_copy || space->oldest_copy >= before)
		return;
	jit_tables_store(&u->tables.jit, space->code, u->now);
	space->oldest_copy = deferred_unwind_finish(u->deferred, process->pid, before, u->now);
}

/*
 * Finishes older stacks: a process describes its code in order of time, so stacks older than this
 * piece need no later code, and may need the code that the piece replaces.
 */
static void finish_older(struct unwinder *u, const struct live_process *process,
			 struct space *space, const struct code_piece *piece)
{
	if (piece->is_exact || piece->moved_from)
		finish_until(u, process, space, piece->is_exact ? piece->since : FOREVER_NS);
}

void unwinder_described(struct unwinder *u, struct live_process *process, uint64_t time)
{
	finish_until(u, process, spaces_of(&u->spaces, process), time);
}

void unwinder_code(struct unwinder *u, struct live_process *process, const struct code_piece *piece)
{
	struct space *space = spaces_of(&u->spaces, process);

	if (piece)
		finish_older(u, process, space, piece);
	space->is_partial |= piece && !piece->eh_frame && !piece->is_erlang;
	if (space->is_partial)
		finish_all(u, process, space);
	if (piece && !jit_tables_add(&u->tables.jit, &space->code, piece) &&
	    !(space->is_partial && space->pending_exec))
		return;
	space_await_code(space, !space->is_partial);
	spaces_mark_dirty(&u->spaces, process);
}

void unwinder_copy(struct unwinder *u, struct live_process *process, const struct rec_copy *copy,
		   uint64_t now)
{
	struct space *space = process ? spaces_of(&u->spaces, process) : NULL;
	uint64_t until = 0;

	if (space && spaces_keep_copy(&u->spaces, process, copy)) {
		until = FOREVER_NS;
		if (!space->code)
			space->code = jit_code_new();
		if (!space->oldest_copy || copy->rec.time < space->oldest_copy)
			space->oldest_copy = copy->rec.time;
	}
	deferred_unwind_add(u->deferred, copy, space ? space->mappings : NULL,
			    space ? space->code : NULL, until, now);
}

static void describe(struct unwinder *u, struct space *space, uint64_t now)
{
	jit_tables_store(&u->tables.jit, space->code, now);
	native_tables_describe(&u->tables, space->mappings, space->code, space_pending_flags(space),
			       &u->scratch);
	space->is_pending = u->scratch.is_pending;
	/* The kernel's walker supports only 8-byte words: without mappings, it copies the stack. */
	if (u->scratch.is_32bit)
		vec_clear(&u->scratch.mappings.rows);
}

/* Publishes a new description to the walker and frees the old one later. */
static void publish(struct unwinder *u, struct live_process *process, uint64_t now)
{
	struct space *space = spaces_of(&u->spaces, process);
	struct shard_piece old = space->piece;
	struct unwind_space value = {.execs = space->execs, .serial = ++u->serial};
	uint32_t words;

	describe(u, space, now);
	value.is_pending = space->is_pending;
	if (space->mappings && !u->scratch.is_32bit) {
		runtime_files_drop_unmapped(&u->tables.modules, process, space, &u->stamp);
		runtime_files_describe(&u->runtimes, &u->tables.modules, process, space, now,
				       &value);
	}
	value.count = (uint32_t)u->scratch.mappings.rows.count;
	words = (uint32_t)(value.count * SPACE_WORDS);
	space->piece = (struct shard_piece){0};
	if (value.count && table_arena_alloc(&u->tables.arena, words, &space->piece)) {
		memcpy(table_arena_words(&u->tables.arena, &space->piece),
		       u->scratch.mappings.rows.items, words * sizeof(uint32_t));
		value.shard = space->piece.shard;
		value.at = space->piece.at;
	} else if (value.count) {
		value.count = 0;
		u->refused++;
	}
	u->walker.set_space(u->walker.ctx, process->pid, &value);
	deferred_free_add(&u->tables.garbage, &old, now);
}

/*
 * Describes waiting spaces again: any new table may be one that any of them waits for. Describing
 * all spaces for each table would take time proportional to the product of both.
 */
static void republish(struct unwinder *u)
{
	bool may_wait = u->unsubmitted.count || !table_pool_is_empty(u->pool);

	if (!u->has_ready_tables || (may_wait && clock_monotonic_ns() < u->next_republish_ns))
		return;
	u->has_ready_tables = false;
	spaces_mark_pending(&u->spaces);
}

void unwinder_set_runtimes(struct unwinder *u, const struct runtime_hooks *hooks)
{
	u->runtimes.hooks = *hooks;
	table_pool_probe(u->pool, &u->runtimes.hooks.probe);
}

void unwinder_expect(struct unwinder *u, int fd)
{
	struct runtime_layout layout;

	/* If it cannot be followed, it will be rejected when it is mapped. */
	if (table_pool_find_runtime(u->pool, fd, &layout))
		runtime_files_expect(&u->runtimes, &layout);
}

void unwinder_take_tables(struct unwinder *u)
{
	struct table_result result;

	while (table_pool_next(u->pool, &result)) {
		module_tables_store(&u->tables.modules, result.module_id, &result.table);
		runtime_files_take(&u->runtimes, &u->tables.modules, &result);
		u->compiled += !result.was_kept;
		table_result_release(&result);
		u->has_ready_tables = true;
	}
	submit_again(u);
}

static void publish_dirty(struct unwinder *u, uint64_t now)
{
	uint64_t start = clock_monotonic_ns(), end;
	struct live_process *process;

	if (!u->spaces.dirty.count)
		return;
	while ((process = spaces_next_dirty(&u->spaces)))
		publish(u, process, now);
	end = clock_monotonic_ns();
	u->next_republish_ns = end + (end - start) * DESCRIBE_SHARE;
}

/* Native stacks are complete by now, except in files that are still being compiled. */
static void follow_runtimes(struct unwinder *u, uint64_t now)
{
	if (runtime_files_add_started(&u->runtimes, &u->tables.modules)) {
		spaces_mark_runtimes(&u->spaces, &u->tables.modules);
		publish_dirty(u, now);
		runtime_files_end(&u->runtimes);
	}
}

void unwinder_inherit_files(struct unwinder *u, struct module_registry *files,
			    struct live_process *child, uint64_t time)
{
	spaces_inherit_files(&u->spaces, files, child, time);
}

void unwinder_forget_files(struct unwinder *u, struct module_registry *files, uint64_t since_ns,
			   uint64_t now)
{
	unused_files_forget(&u->spaces, &u->tables, files, since_ns, now);
}

/* Drops the tables of files that no process has mapped for a while. */
static void evict(struct unwinder *u, uint64_t now)
{
	if (now < u->next_eviction_ns)
		return;
	u->next_eviction_ns = now + EVICTION_NS;
	spaces_use_tables(&u->spaces, &u->tables.modules, now);
	native_tables_evict(&u->tables, UNUSED_NS, now);
}

void unwinder_publish(struct unwinder *u, uint64_t now)
{
	u->now = now;
	publish_dirty(u, now);
}

uint64_t unwinder_due(const struct unwinder *u)
{
	return runtime_files_due(&u->runtimes, &u->spaces);
}

void unwinder_flush(struct unwinder *u, uint64_t now, bool all)
{
	u->now = now;
	do {
		if (all)
			table_pool_wait(u->pool, 0, FOREVER_NS);
		unwinder_take_tables(u);
	} while (all && !table_pool_is_empty(u->pool));
	republish(u);
	runtime_files_retry(&u->runtimes, &u->spaces, now);
	publish_dirty(u, now);
	follow_runtimes(u, now);
	deferred_unwind_flush(u->deferred, now, all);
	evict(u, now);
	native_tables_end_round(&u->tables, now);
}

int unwinder_new(struct unwinder **out, const struct unwinder_options *options, struct error *err)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct space),
		.fork = on_process_fork,
		.exec = on_process_exec,
		.exit = on_process_exit,
		.release = release_space,
	};
	struct unwinder *u = xcalloc(1, sizeof(*u));
	const struct stack_finisher_options finisher = {
		.tables = &u->tables,
		.methods = options->methods,
		.read_file = read_file,
		.ctx = u,
	};
	int code = 0;

	u->walker = options->walker;
	u->files = options->files;
	init_tables(u, options->max_bytes);
	spaces_init(&u->spaces, options->processes, &listener, u);
	u->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (u->event_fd < 0)
		code = error_set(err, -errno, "cannot create an event descriptor");
	if (!code)
		u->pool = table_pool_new(u->tables.rules, u->event_fd);
	if (!code && !u->pool)
		code = error_set(err, -EAGAIN,
				 "cannot start the threads that compile unwind tables");
	if (code) {
		unwinder_free(u);
		return code;
	}
	u->cache = options->cache ? table_cache_new(options->cache) : NULL;
	table_pool_keep(u->pool, u->cache);
	table_pool_limit(u->pool, options->max_file);
	u->deferred = deferred_unwind_new(&finisher, options->sink, options->ctx);
	*out = u;
	return 0;
}

void unwinder_wait(struct unwinder *u, uint64_t max_ns)
{
	/* If files wait for room, return while the pool still has work. */
	table_pool_wait(u->pool, u->unsubmitted.count ? TABLE_POOL_MAX / 2 : 0, max_ns);
}

bool unwinder_is_settled(const struct unwinder *u)
{
	return spaces_are_settled(&u->spaces);
}

void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *stats)
{
	*stats = (struct unwinder_stats){
		.table_bytes = u->tables.arena.rows.count * (uint64_t)UNWIND_SHARD_BYTES,
		.compiled = u->compiled,
		.refused = u->refused + u->tables.modules.too_large + u->tables.jit.refused,
		.code_pieces = u->tables.jit.pieces,
		.malformed_pieces = u->tables.jit.malformed,
		.early = deferred_unwind_early(u->deferred),
	};
	module_tables_count(&u->tables.modules, &stats->tables, &stats->rows);
}
