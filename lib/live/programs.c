/* SPDX-License-Identifier: MIT */
#include "lib/live/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/names.h"
#include "prof.skel.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/filter.h"
#include "lib/unwind/walk.h"

/* Inode of the initial pid namespace: PROC_PID_INIT_INO of the kernel. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

/* Their numbers are free again before the programs hear that they are gone. */
#define DYING_TASKS 4096

struct programs {
	struct prof_bpf *skeleton;
	VEC(struct ring) rings;
	int epoll_fd; /* of the rings */
	uint64_t ring_bytes;
	struct unwind_rule *rules; /* NULL until somebody asks for them */
	ring_record_fn *on_record;
	void *ctx;
};

#define RULES_SIZE (UNWIND_RULES_MAX * sizeof(struct unwind_rule))

static int on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level == LIBBPF_DEBUG || !log_enabled(LOG_DEBUG))
		return 0;
	text = xvasprintf(fmt, args);
	log_debug("libbpf: %s", text);
	return 0;
}

static uint64_t read_number(const char *path, uint64_t fallback)
{
	_cleanup_free_ char *text = text_read_file(path, 64, NULL);
	uint64_t value;

	if (!text)
		return fallback;
	text[strcspn(text, "\n")] = 0;
	return text_to_u64(text, 10, &value) ? value : fallback;
}

static uint32_t own_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}

/*
 * As many processes and threads as there can be, those that are being freed included. pid_max alone
 * is 4 million on most machines: tables of that size would take longer than all other loading, and
 * 64 MB each.
 */
static uint32_t task_limit(void)
{
	uint64_t pid_max = read_number("/proc/sys/kernel/pid_max", 1 << 22);
	uint64_t limit = read_number("/proc/sys/kernel/threads-max", pid_max) + DYING_TASKS;

	return (uint32_t)(limit < pid_max ? limit : pid_max);
}

static void configure_filter(struct prof_bpf *skeleton, const struct filter *f)
{
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;

	config->record_all = f->all;
	config->include_self = f->include_self;
	config->skip_children = f->skip_children;
	config->filter = f->criteria;
	config->cgroup_hierarchy = f->cgroup_hierarchy;
	config->uid_count = (uint32_t)f->uids.count;
	for (size_t i = 0; i < f->uids.count; i++)
		config->uids[i] = f->uids.items[i];
	*(struct name_set *)&skeleton->rodata->process_names = f->process_names;
	*(struct name_set *)&skeleton->rodata->thread_names = f->thread_names;
}

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

static int configure(struct prof_bpf *skeleton, const struct programs_options *options)
{
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;
	const struct filter *filter = options->filter;
	struct bpf_map *by_pid[] = {
		skeleton->maps.tracked,	      skeleton->maps.wanted,   skeleton->maps.wanted_tids,
		skeleton->maps.unwind_spaces, skeleton->maps.own_tids,
	};
	int code;

	configure_filter(skeleton, filter);
	config->pid_inode = own_pid_namespace();
	config->wakeup_bytes = (uint32_t)(options->ring_bytes / 4);
	config->unwind = options->unwind;
	config->full_bytes = (uint32_t)(options->ring_bytes / 2);
	if (options->events)
		memcpy(config->events, options->events, sizeof(config->events));
	bpf_program__set_autoload(skeleton->progs.on_event, options->events);
	bpf_program__set_autoload(skeleton->progs.on_tracepoint, options->events);
	if (options->unwind & UNWIND_BY_CFI)
		config->copy_bytes = (uint32_t)(options->ring_bytes / 2);
	config->user_pc_mask = walk_own_pc_mask();
	config->stack_limit = (uint32_t)read_number("/proc/sys/kernel/perf_event_max_stack", 127);
	if (config->stack_limit > USER_DEPTH_MAX)
		config->stack_limit = USER_DEPTH_MAX;
	code = bpf_map__set_max_entries(skeleton->maps.rings, options->possible_cpus);
	for (size_t i = 0; i < sizeof(by_pid) / sizeof(by_pid[0]) && !code; i++)
		code = bpf_map__set_max_entries(by_pid[i], task_limit());
	return code;
}

/* Works out what the namespace's inode alone does not tell: see find_self. */
static int find_self(struct prof_bpf *skeleton, struct error *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int code = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_self), &run);

	return code ? error_set(err, code, "find the depth of the pid namespace") : 0;
}

static int load(struct programs *p, const struct programs_options *options, struct error *err)
{
	int code;

	p->skeleton = prof_bpf__open();
	if (!p->skeleton)
		return error_set(err, -errno, "open the BPF object");
	code = configure(p->skeleton, options);
	if (code)
		return error_set(err, code, "configure the BPF object");
	code = prof_bpf__load(p->skeleton);
	if (code)
		return error_set(err, code, "load the BPF programs");
	code = find_self(p->skeleton, err);
	if (code)
		return code;
	return fill_filter(p->skeleton, options->filter, err);
}

int programs_attach(struct programs *p, struct error *err)
{
	int code = prof_bpf__attach(p->skeleton);

	return code ? error_set(err, code, "attach the BPF programs") : 0;
}

int programs_load(struct programs **out, const struct programs_options *options,
		  ring_record_fn *on_record, void *ctx, struct error *err)
{
	struct programs *p = xcalloc(1, sizeof(*p));
	int code;

	p->ring_bytes = options->ring_bytes;
	p->on_record = on_record;
	p->ctx = ctx;
	libbpf_set_print(on_libbpf_message);
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	code = p->epoll_fd < 0 ? error_set(err, -errno, "epoll_create") : load(p, options, err);
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
	vec_for_each(&p->rings, struct ring *, ring)
		ring_close(ring);
	vec_release(&p->rings);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	prof_bpf__destroy(p->skeleton);
	free(p);
}

/* Edges: a ring that is read is hardly ever empty, and its reader waits until much is in it. */
static int watch_ring(struct programs *p, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int programs_add_ring(struct programs *p, uint32_t cpu, struct error *err)
{
	int rings = bpf_map__fd(p->skeleton->maps.rings);
	struct ring ring;
	int code = ring_open(&ring, p->ring_bytes);

	if (code)
		return error_set(err, code, "create a ring of %llu bytes for CPU %u",
				 (unsigned long long)p->ring_bytes, cpu);
	vec_push(&p->rings, ring);
	code = watch_ring(p, ring.fd);
	if (code)
		return error_set(err, code, "watch the ring of CPU %u", cpu);
	/* Last: a program never finds a ring that nobody reads. */
	code = bpf_map_update_elem(rings, &cpu, &ring.fd, BPF_ANY);
	return code ? error_set(err, code, "install the ring of CPU %u", cpu) : 0;
}

int programs_attach_sampler(struct programs *p, int perf_fd, struct error *err)
{
	int program = bpf_program__fd(p->skeleton->progs.on_tick);

	if (ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, program))
		return error_set(err, -errno, "attach the sampler to the sampling event");
	return 0;
}

int programs_attach_event(struct programs *p, int perf_fd, bool is_tracepoint, uint32_t event)
{
	const struct bpf_program *program = is_tracepoint ? p->skeleton->progs.on_tracepoint
							  : p->skeleton->progs.on_event;
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = event);
	int link = bpf_link_create(bpf_program__fd(program), perf_fd, BPF_PERF_EVENT, &options);

	return link < 0 ? -errno : link;
}

int programs_read_event(struct programs *p, uint32_t event, struct event_state *states)
{
	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.event_states), &event, states);
}

int programs_track(struct programs *p, uint32_t pid, bool from_exec, struct error *err)
{
	const struct bpf_map *map = from_exec ? p->skeleton->maps.awaited
					      : p->skeleton->maps.wanted;
	int code = add_to(map, &pid);

	return code ? error_set(err, code, "enter pid %u into the filter", pid) : 0;
}

/* Runs an iterator over all tasks; what it writes goes to `out`, where that is not NULL. */
static int run_iterator(const struct bpf_link *link, struct strbuf *out)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char piece[16384];
	ssize_t size;

	if (fd < 0)
		return fd;
	/* Nothing read does not mean that it was the end while programs run into each other. */
	while ((size = read(fd, piece, sizeof(piece))) != 0) {
		if (size < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (size > 0 && out)
			strbuf_add(out, piece, (size_t)size);
	}
	return 0;
}

/* A child may have a lower number than its parent, or come meanwhile: until there is none left. */
static int enter_tasks(struct programs *p)
{
	const volatile uint32_t *entered = &p->skeleton->bss->entered_tasks;
	uint32_t before;
	int code;

	do {
		before = *entered;
		code = run_iterator(p->skeleton->links.enter_tasks, NULL);
	} while (!code && *entered != before);
	return code;
}

int programs_scan(struct programs *p, ring_record_fn *on_record, void *ctx, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf list = {0};
	int code = enter_tasks(p);

	if (!code)
		code = run_iterator(p->skeleton->links.list_tasks, &list);
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

int programs_unwind_shards_fd(const struct programs *p)
{
	return bpf_map__fd(p->skeleton->maps.unwind_shards);
}

void programs_set_space(struct programs *p, uint32_t pid, const struct unwind_space *space)
{
	int fd = bpf_map__fd(p->skeleton->maps.unwind_spaces);

	/* Without an entry its samples are counted as unknown: nothing else to do about a failure.
	 */
	if (space)
		bpf_map_update_elem(fd, &pid, space, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &pid);
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

void programs_drain(struct programs *p)
{
	struct epoll_event events[16];

	/* What is known by now; whatever comes while rings are read is told again. */
	while (epoll_wait(p->epoll_fd, events, 16, 0) == 16)
		;
	vec_for_each(&p->rings, struct ring *, ring)
		ring_drain(ring, p->on_record, p->ctx);
}

int programs_read_counters(struct programs *p, struct bpf_counters *counters)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.counters), &zero, counters);
}
