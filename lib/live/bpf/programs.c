/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "lib/base/workers.h"
#include "lib/live/bpf/programs_internal.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/machine/host.h"
#include "prof.skel.h"
#include "running.skel.h"
#include "shared.skel.h"

/* Maximum number of threads that wait simultaneously. */
#define THREADS_MAX 16

struct worker {
	struct map_slot_filler *filler;
	size_t first; /* first slot to fill, followed by every worker_count-th slot */
	pthread_t thread;
	bool is_running;
};

struct map_slot_filler {
	struct map_slot *slots;
	size_t count;
	map_slot_make_fn *make;
	void *ctx;
	struct worker workers[THREADS_MAX];
	size_t worker_count;
};

static int fill(const struct map_slot_filler *f, struct map_slot *slot)
{
	if (slot->fd < 0)
		slot->fd = f->make(f->ctx, slot);
	if (slot->fd < 0)
		return slot->fd;
	return bpf_map_update_elem(slot->outer_fd, &slot->key, &slot->fd, BPF_ANY);
}

static void *work(void *arg)
{
	const struct worker *w = arg;
	const struct map_slot_filler *f = w->filler;

	for (size_t i = w->first; i < f->count; i += f->worker_count)
		f->slots[i].code = fill(f, &f->slots[i]);
	return NULL;
}

/*
 * Begins to fill the slots. The caller owns slots and descriptors, but must not touch them before
 * map_slots_wait().
 */
static struct map_slot_filler *map_slots_fill(struct map_slot *slots, size_t count,
					      map_slot_make_fn *make, void *ctx)
{
	struct map_slot_filler *f = xcalloc(1, sizeof(*f));

	f->slots = slots;
	f->count = count;
	f->make = make;
	f->ctx = ctx;
	f->worker_count = count < THREADS_MAX ? count : THREADS_MAX;
	for (size_t i = 0; i < f->worker_count; i++) {
		struct worker *w = &f->workers[i];

		w->filler = f;
		w->first = i;
		w->is_running = thread_start(&w->thread, "prof-slots", work, w) == 0;
	}
	return f;
}

/* Waits until all slots are filled or have failed. Frees the filler; accepts NULL. */
static void map_slots_wait(struct map_slot_filler *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->worker_count; i++) {
		if (f->workers[i].is_running)
			pthread_join(f->workers[i].thread, NULL);
		else
			work(&f->workers[i]);
	}
	free(f);
}

/* Makes the maps of maps: a ring per CPU, and shards of unwind tables. */

static int make_ring(void *ctx, const struct map_slot *slot)
{
	const struct programs *p = ctx;

	return ring_make(p->ring_bytes);
}

/* Makes a map of maps like `inner`. */
static int make_outer(const char *name, uint32_t count, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)inner);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, name, sizeof(uint32_t), sizeof(uint32_t),
			      count, &options);
}

static int make_rings(struct programs *p, const struct programs_options *options)
{
	/* The verifier ignores the size of inner rings, so this one is minimal. */
	_cleanup_close_ int like = ring_make((uint64_t)sysconf(_SC_PAGESIZE));
	struct cpu_list online;
	int code;

	if (like < 0)
		return like;
	p->rings_fd = make_outer("rings", options->possible_cpus, like);
	if (p->rings_fd < 0)
		return p->rings_fd;
	code = cpu_list_read("online", &online);
	if (code)
		return code;
	for (uint32_t i = 0; i < online.count; i++) {
		vec_push(&p->slots, (struct map_slot){p->rings_fd, online.cpus[i], -1, 0});
		p->copying_cpus = online.cpus[i] + 1;
	}
	cpu_list_release(&online);
	return 0;
}

/* The first shard is always needed with tables, and is the template of all others. */
static int make_shards(struct programs *p)
{
	int first = shard_make(UNWIND_SHARD_BYTES);

	if (first < 0)
		return first;
	vec_push(&p->slots, (struct map_slot){.fd = first});
	p->shards_fd = make_outer("unwind_shards", UNWIND_SHARDS_MAX, first);
	vec_last(&p->slots).outer_fd = p->shards_fd;
	return p->shards_fd < 0 ? p->shards_fd : 0;
}

/*
 * Makes only the outer map, to which the programs refer even without tables. Kernels before 6.8
 * also check functions that are never called, so the template is as large as a shard; it is freed
 * at once.
 */
static int make_no_shards(struct programs *p)
{
	_cleanup_close_ int like = shard_make(UNWIND_SHARD_BYTES);

	if (like < 0)
		return like;
	p->shards_fd = make_outer("unwind_shards", 1, like);
	return p->shards_fd < 0 ? p->shards_fd : 0;
}

static int programs_make_maps(struct programs *p, const struct programs_options *options,
			      struct error *err)
{
	int code = options->unwind & UNWIND_BY_CFI ? make_shards(p) : make_no_shards(p);

	if (!code)
		code = make_rings(p, options);
	if (code)
		return error_set(err, code, "cannot create BPF maps");
	p->filler = map_slots_fill(p->slots.items, p->slots.count, make_ring, p);
	return 0;
}

static void wait_for_slots(struct programs *p)
{
	map_slots_wait(steal(p->filler));
}

/* Makes the maps of maps and begins to fill them. */
static void programs_free_maps(struct programs *p)
{
	wait_for_slots(p);
	vec_for_each(&p->rings, struct ring *, ring)
		ring_close(ring);
	vec_release(&p->rings);
	vec_for_each(&p->slots, struct map_slot *, slot)
		fd_close(slot->fd);
	vec_release(&p->slots);
	fd_close(p->epoll_fd);
	fd_close(p->rings_fd);
	fd_close(p->shards_fd);
}

static struct map_slot *find_ring(struct programs *p, uint32_t cpu)
{
	wait_for_slots(p);
	return vec_find(&p->slots, slot, slot->outer_fd == p->rings_fd && slot->key == cpu);
}

/*
 * Watches a ring, edge-triggered: it is rarely empty, and its reader waits until it holds much
 * data.
 */
static int watch_ring(struct programs *p, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/*
 * Adds the CPU's ring to the map unless it is already there: for CPUs that come online later, and
 * for those whose ring could not be made or mapped before.
 */
static int fill_slot(struct programs *p, uint32_t cpu, int *fd)
{
	struct map_slot *slot = find_ring(p, cpu);

	if (!slot) {
		vec_push(&p->slots, (struct map_slot){p->rings_fd, cpu, -1, 0});
		slot = &vec_last(&p->slots);
	}
	if (slot->code || slot->fd < 0)
		map_slots_wait(map_slots_fill(slot, 1, make_ring, p));
	*fd = slot->code ? -1 : steal_fd(&slot->fd);
	return slot->code;
}

/* Reads the ring from now on. Takes over the descriptor. */
static int open_ring(struct programs *p, uint32_t cpu, int fd, struct error *err)
{
	struct ring ring;
	int code = ring_open(&ring, fd, p->ring_bytes);

	if (code)
		return error_set(err, code, "cannot map the ring of CPU %u", cpu);
	ring.cpu = cpu;
	code = watch_ring(p, ring.fd);
	if (code) {
		ring_close(&ring);
		return error_set(err, code, "cannot watch the ring of CPU %u", cpu);
	}
	vec_push(&p->rings, ring);
	return 0;
}

int programs_add_ring(struct programs *p, uint32_t cpu, struct error *err)
{
	int fd, code = fill_slot(p, cpu, &fd);

	if (code)
		return error_set(err, code, "cannot create a ring of %llu bytes for CPU %u",
				 (unsigned long long)p->ring_bytes, cpu);
	code = open_ring(p, cpu, fd, err);
	/* Without a ring, the programs count their losses. An unread ring would hide them. */
	if (code)
		bpf_map_delete_elem(p->rings_fd, &cpu);
	return code;
}

int programs_unwind_shards_fd(const struct programs *p)
{
	return p->shards_fd;
}

int programs_take_shard(struct programs *p)
{
	wait_for_slots(p);
	vec_for_each(&p->slots, struct map_slot *, slot) {
		if (slot->outer_fd == p->shards_fd && !slot->code)
			return steal_fd(&slot->fd);
	}
	return -1;
}

/*
 * Loads the objects. Most of the time is spent in the kernel's check of each program, so a second
 * thread loads the parts in parallel with the first object. Neither needs the other's maps: the
 * shared maps belong to an object without programs that is loaded before.
 */

/*
 * Sets the number of rows in the maps of copied stacks (copy.bpf.h) of an open object to `cpus`.
 * Returns 0 or a negative errno.
 */
static int size_maps_by_cpu(struct bpf_object *object, uint32_t cpus)
{
	struct bpf_map *map;
	int code = 0;

	bpf_object__for_each_map(map, object)
	{
		if (!code && text_ends_with(bpf_map__name(map), "copies"))
			code = bpf_map__set_max_entries(map, cpus);
	}
	return code;
}

static int load_object(struct programs *p, struct bpf_object_skeleton *skeleton)
{
	int code = size_maps_by_cpu(*skeleton->obj, p->copying_cpus);

	if (!code)
		code = share_maps(*skeleton->obj, p->shared->obj);
	return code ? code : bpf_object__load_skeleton(skeleton);
}

static int load_parts(struct programs *p)
{
	vec_for_each(&p->parts, const struct open_part *, row) {
		int code = row->part.is_late ? 0 : load_object(p, row->skeleton);

		if (code)
			return code;
	}
	return 0;
}

static void *load_beside(void *p)
{
	return (void *)(intptr_t)load_parts(p);
}

int programs_load_late(struct programs *p, const void *part_ctx)
{
	struct open_part found = {0};

	pthread_mutex_lock(&p->parts_lock);
	vec_for_each(&p->parts, const struct open_part *, row) {
		if (row->part.is_late && row->part.ctx == part_ctx && !found.skeleton)
			found = *row;
	}
	pthread_mutex_unlock(&p->parts_lock);
	return found.skeleton ? load_object(p, found.skeleton) : -ENOENT;
}

bool programs_have_unsampled_waits(const struct programs *p)
{
	const volatile struct shared_bpf__data_shared *shared = p->shared->data_shared;

	return shared->has_unsampled_waits;
}

int programs_load_parts(struct programs *p)
{
	int code = size_maps_by_cpu(p->shared->obj, p->copying_cpus);
	bool is_beside;
	pthread_t thread;
	void *result;

	if (!code)
		code = shared_bpf__load(p->shared);
	if (code)
		return code;
	is_beside = vec_find(&p->parts, row, !row->part.is_late) &&
		    thread_start(&thread, "prof-loader", load_beside, p) == 0;
	code = load_object(p, p->skeleton->skeleton);
	if (!is_beside)
		return code ? code : load_parts(p);
	pthread_join(thread, &result);
	return code ? code : (int)(intptr_t)result;
}

/* Objects loaded while recording. */

/* Returns the object of a part by its name; NULL if there is none. */
static const struct bpf_object *programs_find_object(struct programs *p, const char *name)
{
	const struct bpf_object *found = NULL;

	pthread_mutex_lock(&p->parts_lock);
	vec_for_each(&p->parts, const struct open_part *, row) {
		if (strcmp(bpf_object__name(*row->skeleton->obj), name) == 0)
			found = *row->skeleton->obj;
	}
	pthread_mutex_unlock(&p->parts_lock);
	return found;
}

static int share_with_partners(struct programs *p, struct bpf_object *object,
			       const char *const *partners)
{
	int code = share_maps(object, p->skeleton->obj);

	for (; partners && *partners && !code; partners++) {
		const struct bpf_object *partner = programs_find_object(p, *partners);

		if (partner)
			code = share_maps(object, partner);
	}
	return code;
}

/* `types`: a file with the needed kernel types; -1: libbpf reads the kernel's own. */
static int add_late(struct programs *p, const struct programs_part *part, int types,
		    struct bpf_object_skeleton **out, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, open);
	struct bpf_object_skeleton *skeleton;
	char path[64];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	if (types >= 0)
		open.btf_custom_path = path;
	code = part->open(part->ctx, &open, &skeleton);
	if (code)
		return error_set(err, code, "cannot open a BPF object");
	code = size_maps_by_cpu(*skeleton->obj, p->copying_cpus);
	if (!code)
		code = share_with_partners(p, *skeleton->obj, part->partners);
	if (!code)
		code = bpf_object__load_skeleton(skeleton);
	*out = skeleton;
	return code ? error_set(err, code, "cannot load a BPF program") : 0;
}

int programs_add_late(struct programs *p, const struct programs_part *part, struct error *err)
{
	struct open_part row = {.part = *part};
	struct error first = {0};
	int code = add_late(p, part, p->types_fd, &row.skeleton, p->types_fd >= 0 ? &first : err);

	if (code && p->types_fd >= 0) {
		part->close(part->ctx);
		log_info("%s; retrying with all kernel types", first.text);
		code = add_late(p, part, -1, &row.skeleton, err);
	}
	if (code) {
		part->close(part->ctx);
		return code;
	}
	pthread_mutex_lock(&p->parts_lock);
	vec_push(&p->parts, row);
	pthread_mutex_unlock(&p->parts_lock);
	return 0;
}

#define AWAIT_MS 5
#define RULES_SIZE (UNWIND_RULES_MAX * sizeof(struct unwind_rule))

static int add_to(const struct bpf_map *map, const void *key)
{
	const uint32_t yes = 1;

	return bpf_map_update_elem(bpf_map__fd(map), key, &yes, BPF_ANY);
}

static int fill_filter(struct prof_bpf *skeleton, const struct filter *f, struct error *err)
{
	int code = 0;

	vec_for_each(&f->pids, const uint32_t *, pid)
		code = code ? code : add_to(skeleton->maps.wanted, pid);
	vec_for_each(&f->tids, const uint32_t *, tid)
		code = code ? code : add_to(skeleton->maps.wanted_tids, tid);
	vec_for_each(&f->cgroups, const uint64_t *, id)
		code = code ? code : add_to(skeleton->maps.wanted_cgroups, id);
	return code ? error_set(err, code, "cannot set up the filters") : 0;
}

/*
 * Finds the depth of the pid namespace, which its inode does not reveal; see bpf/probes/self.bpf.c.
 */
static int find_self(struct prof_bpf *skeleton, struct error *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int code = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_self), &run);

	return code ? error_set(err, code, "cannot find the depth of the pid namespace") : 0;
}

static int attach_iterator(const struct bpf_program *program, struct bpf_link **link)
{
	if (*link)
		return 0;
	*link = bpf_program__attach_iter(program, NULL);
	return *link ? 0 : -errno;
}

/*
 * Attaches programs by section. Since version 1.2, libbpf forgets the section of a program whose
 * type changes, as in programs_load.c, and thus how to attach it.
 */
static int attach_tracing(const struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		const char *at = (const char *)skeleton->progs +
				 (size_t)i * (size_t)skeleton->prog_skel_sz;
		const struct bpf_prog_skeleton *row = (const struct bpf_prog_skeleton *)at;

		if (*row->link || !bpf_program__autoattach(*row->prog) ||
		    bpf_program__expected_attach_type(*row->prog) != BPF_TRACE_RAW_TP ||
		    bpf_program__type(*row->prog) != BPF_PROG_TYPE_TRACING)
			continue;
		*row->link = bpf_program__attach_trace(*row->prog);
		if (!*row->link)
			return -errno;
	}
	return 0;
}

int programs_attach(struct programs *p, struct error *err)
{
	struct running_bpf *running = p->running;
	int code = prof_bpf__attach(p->skeleton);

	vec_for_each(&p->parts, const struct open_part *, row) {
		if (!code && !row->part.is_late)
			code = bpf_object__attach_skeleton(row->skeleton);
		if (!code && !row->part.is_late)
			code = attach_tracing(row->skeleton);
	}
	if (!code && running)
		code = attach_iterator(running->progs.enter_tasks, &running->links.enter_tasks);
	if (!code && running)
		code = attach_iterator(running->progs.list_tasks, &running->links.list_tasks);
	return code ? error_set(err, code, "cannot attach the BPF programs") : 0;
}

int programs_load(struct programs **out, const struct programs_options *options,
		  ring_record_fn *on_record, void *ctx, struct error *err)
{
	struct programs *p = xcalloc(1, sizeof(*p));
	int code;

	pthread_mutex_init(&p->parts_lock, NULL);
	p->rings_fd = p->shards_fd = p->types_fd = -1;
	p->ring_bytes = options->ring_bytes;
	p->on_record = on_record;
	p->ctx = ctx;
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	code = p->epoll_fd < 0 ? error_set(err, -errno, "cannot create an epoll instance") : 0;
	if (!code)
		code = programs_make_maps(p, options, err);
	if (!code)
		code = programs_load_objects(p, options, err);
	if (!code)
		code = find_self(p->skeleton, err);
	if (!code)
		code = fill_filter(p->skeleton, options->filter, err);
	if (code) {
		programs_free(p);
		return code;
	}
	*out = p;
	return 0;
}

void programs_free(struct programs *p)
{
	if (!p)
		return;
	if (p->rules)
		munmap(p->rules, RULES_SIZE);
	programs_free_objects(p);
	programs_free_maps(p);
	pthread_mutex_destroy(&p->parts_lock);
	free(p);
}

int programs_find(const struct programs *p, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(p->skeleton->obj,
									     name);

	return program ? bpf_program__fd(program) : -1;
}

int programs_track(struct programs *p, uint32_t pid, bool from_exec, struct error *err)
{
	const struct bpf_map *map = from_exec ? p->skeleton->maps.pending_exec
					      : p->skeleton->maps.wanted;
	int code = add_to(map, &pid);

	return code ? error_set(err, code, "cannot add pid %u to the filter", pid) : 0;
}

/* Runs an iterator over all tasks. Appends its output to `out`, unless NULL. */
static int run_iterator(const struct bpf_link *link, struct strbuf *out)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char piece[16384];
	ssize_t size;

	if (fd < 0)
		return fd;
	/* EAGAIN is not the end: programs that interrupt each other cause it. */
	while ((size = read(fd, piece, sizeof(piece))) != 0) {
		if (size < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (size > 0 && out)
			strbuf_add(out, piece, (size_t)size);
	}
	return 0;
}

/* Repeats until no task is added: a child may have a lower pid than its parent, or be new. */
static int enter_tasks(struct programs *p)
{
	const volatile uint32_t *entered = &p->running->bss->entered_tasks;
	uint32_t before;
	int code;

	do {
		before = *entered;
		code = run_iterator(p->running->links.enter_tasks, NULL);
	} while (!code && *entered != before);
	return code;
}

int programs_scan(struct programs *p, ring_record_fn *on_record, void *ctx, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf list = {0};
	int code = enter_tasks(p) ?: run_iterator(p->running->links.list_tasks, &list);

	if (code)
		return error_set(err, code, "cannot list running tasks");
	for (size_t at = 0; at + sizeof(struct rec_name) <= list.size;
	     at += sizeof(struct rec_name))
		on_record(ctx, list.text + at, sizeof(struct rec_name));
	return 0;
}

struct unwind_rule *programs_unwind_rules(struct programs *p)
{
	int fd = bpf_map__fd(p->skeleton->maps.unwind_rules);

	if (!p->rules) {
		void *memory = mmap(NULL, RULES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		p->rules = memory == MAP_FAILED ? NULL : memory;
	}
	return p->rules;
}

/* Replaces the older epoch, never the newer one, so CPUs see both in the order they need. */
void programs_begin_epoch(struct programs *p, uint64_t time_ns)
{
	uint64_t *epochs = (uint64_t *)p->shared->data_shared->stack_epochs;

	__atomic_store_n(&epochs[epochs[0] > epochs[1]], time_ns, __ATOMIC_SEQ_CST);
}

/*
 * Keeps the count of failed walks: otherwise, a process that keeps mapping files could mislead
 * forever.
 */
static void keep_misled(struct unwind_space *space, const struct unwind_space *before)
{
	for (size_t i = 0; i < SPACE_RUNTIMES; i++) {
		struct space_runtime *runtime = &space->runtimes[i];

		for (size_t k = 0; k < SPACE_RUNTIMES && runtime->kind; k++) {
			const struct space_runtime *old = &before->runtimes[k];

			if (old->kind == runtime->kind && old->layout == runtime->layout &&
			    old->bias == runtime->bias)
				runtime->misled = old->misled;
		}
	}
}

void programs_set_space(struct programs *p, uint32_t pid, const struct unwind_space *space)
{
	int fd = bpf_map__fd(p->skeleton->maps.unwind_spaces);
	struct unwind_space before, value;

	/* Ignore failures: without an entry, stacks of the process stay unknown. */
	if (!space) {
		bpf_map_delete_elem(fd, &pid);
		return;
	}
	value = *space;
	if (!bpf_map_lookup_elem(fd, &pid, &before) && before.execs == value.execs)
		keep_misled(&value, &before);
	bpf_map_update_elem(fd, &pid, &value, BPF_ANY);
}

const char *programs_find_symbol(struct programs *p, uint64_t addr)
{
	struct symbol_query *query = &p->skeleton->bss->symbol_query;

	LIBBPF_OPTS(bpf_test_run_opts, run);
	query->addr = addr;
	if (bpf_prog_test_run_opts(bpf_program__fd(p->skeleton->progs.find_symbol), &run))
		return NULL;
	query->text[sizeof(query->text) - 1] = '\0';
	return query->text;
}

int programs_poll_fd(const struct programs *p)
{
	return p->epoll_fd;
}

bool programs_drain(struct programs *p)
{
	struct epoll_event events[16];
	bool is_complete = true;

	/* Clear the known events; data that arrives while rings are read raises new ones. */
	while (epoll_wait(p->epoll_fd, events, 16, 0) == 16)
		;
	vec_for_each(&p->rings, struct ring *, ring)
		is_complete &= ring_drain(ring, p->on_record, p->ctx);
	return is_complete;
}

void programs_await(const struct programs *p, uint64_t max_ns)
{
	uint64_t end = clock_monotonic_ns() + max_ns;

	vec_for_each(&p->rings, const struct ring *, ring) {
		while (ring_is_blocked(ring) && clock_monotonic_ns() < end)
			poll(NULL, 0, AWAIT_MS);
	}
}

void programs_drain_rest(struct programs *p, ring_left_fn *fn)
{
	vec_for_each(&p->rings, struct ring *, ring) {
		unsigned int left = ring_drain_rest(ring, p->on_record, p->ctx);

		if (left)
			fn(p->ctx, ring->cpu, left);
	}
}

int programs_read_counters(struct programs *p, struct bpf_counters *counters)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.counters), &zero, counters);
}

int programs_read_costs(struct programs *p, struct program_costs *costs)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.program_costs), &zero, costs);
}

void programs_weigh_ticks(struct programs *p, uint32_t intervals)
{
	p->skeleton->bss->tick_intervals = intervals - 1;
}

void programs_take_background(struct programs *p, background_fn *fn, void *ctx)
{
	int fd = bpf_map__fd(p->skeleton->maps.background_processes);
	uint32_t keys[BACKGROUND_MAX], count = 0;
	struct background_process row;

	while (count < BACKGROUND_MAX &&
	       bpf_map_get_next_key(fd, count ? &keys[count - 1] : NULL, &keys[count]) == 0)
		count++;
	for (uint32_t i = 0; i < count; i++) {
		if (bpf_map_lookup_and_delete_elem(fd, &keys[i], &row) == 0)
			fn(ctx, &row);
	}
}

bool programs_has(struct programs *p, const char *name)
{
	return programs_find_object(p, name) != NULL;
}

int programs_enter_runtime(struct programs *p, uint32_t kind, int program_fd, const char *object,
			   const char *map, struct error *err)
{
	const struct bpf_object *owner = object ? programs_find_object(p, object)
						: p->skeleton->obj;
	const struct bpf_map *found = owner ? bpf_object__find_map_by_name(owner, map) : NULL;
	int code = found ? bpf_map_update_elem(bpf_map__fd(found), &kind, &program_fd, BPF_ANY)
			 : -ENOENT;

	return code ? error_set(err, code, "cannot register a runtime's program") : 0;
}

int programs_set_layout(struct programs *p, uint32_t number, const struct runtime_layout *layout,
			struct error *err)
{
	int fd = bpf_map__fd(p->skeleton->maps.runtime_layouts);
	int code = bpf_map_update_elem(fd, &number, layout, BPF_ANY);

	return code ? error_set(err, code, "cannot store the layout of a runtime") : 0;
}

int programs_read_runtime_counters(struct programs *p, uint32_t row,
				   struct runtime_counters *counters)
{
	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.runtime_counts), &row, counters);
}

int shard_make(uint32_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "prof_shard", sizeof(uint32_t), size, 1,
			      &options);
}

int share_maps(struct bpf_object *object, const struct bpf_object *loaded)
{
	struct bpf_map *map;
	int code = 0;

	bpf_object__for_each_map(map, object)
	{
		const struct bpf_map *shared = bpf_object__find_map_by_name(loaded,
									    bpf_map__name(map));

		if (!shared || code)
			continue;
		code = bpf_map__autocreate(shared) ? bpf_map__reuse_fd(map, bpf_map__fd(shared))
						   : bpf_map__set_autocreate(map, false);
	}
	return code;
}
