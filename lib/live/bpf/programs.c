/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/bpf/programs_internal.h"
#include "prof.skel.h"
#include "shared.skel.h"
#include "running.skel.h"

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
	return code ? error_set(err, code, "set up the filters") : 0;
}

/*
 * Finds the depth of the pid namespace, which its inode does not tell; see bpf/probes/self.bpf.c.
 */
static int find_self(struct prof_bpf *skeleton, struct error *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int code = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_self), &run);

	return code ? error_set(err, code, "find the depth of the pid namespace") : 0;
}

/* Attaches an iterator that libbpf has not attached. */
static int attach_iterator(const struct bpf_program *program, struct bpf_link **link)
{
	if (*link)
		return 0;
	*link = bpf_program__attach_iter(program, NULL);
	return *link ? 0 : -errno;
}

/*
 * From version 1.2 on libbpf forgets the section of a program whose type changes, as that of those
 * in programs_load.c does, and with it how to attach it.
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
	return code ? error_set(err, code, "attach the BPF programs") : 0;
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
	code = p->epoll_fd < 0 ? error_set(err, -errno, "epoll_create") : 0;
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

	return code ? error_set(err, code, "enter pid %u into the filter", pid) : 0;
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

/* Repeats until no task is entered: a child may have a lower pid than its parent, or be new. */
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
	int code = enter_tasks(p);

	if (!code)
		code = run_iterator(p->running->links.list_tasks, &list);
	if (code)
		return error_set(err, code, "list the tasks that run already");
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

/* A CPU sees both words in the order in which it needs them: the younger one is never replaced. */
void programs_begin_epoch(struct programs *p, uint64_t time_ns)
{
	uint64_t *epochs = (uint64_t *)p->shared->data_shared->stack_epochs;

	__atomic_store_n(&epochs[epochs[0] > epochs[1]], time_ns, __ATOMIC_SEQ_CST);
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
	/* Else a process that maps files all the time would never be found to mislead. */
	if (!bpf_map_lookup_elem(fd, &pid, &before) && before.execs == value.execs)
		value.misled = before.misled;
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

void programs_take_neighbours(struct programs *p, neighbour_fn *fn, void *ctx)
{
	int fd = bpf_map__fd(p->skeleton->maps.neighbours);
	uint32_t keys[NEIGHBOURS_MAX], count = 0;
	struct neighbour row;

	while (count < NEIGHBOURS_MAX &&
	       bpf_map_get_next_key(fd, count ? &keys[count - 1] : NULL, &keys[count]) == 0)
		count++;
	for (uint32_t i = 0; i < count; i++) {
		if (bpf_map_lookup_and_delete_elem(fd, &keys[i], &row) == 0)
			fn(ctx, &row);
	}
}

const struct bpf_object *programs_find_object(struct programs *p, const char *name)
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

	return code ? error_set(err, code, "enter a runtime's program") : 0;
}

int programs_set_layout(struct programs *p, uint32_t number, const struct runtime_layout *layout,
			struct error *err)
{
	int fd = bpf_map__fd(p->skeleton->maps.runtime_layouts);
	int code = bpf_map_update_elem(fd, &number, layout, BPF_ANY);

	return code ? error_set(err, code, "store the layout of a runtime") : 0;
}

int programs_read_runtime_counters(struct programs *p, uint32_t row,
				   struct runtime_counters *counters)
{
	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.runtime_counts), &row, counters);
}
