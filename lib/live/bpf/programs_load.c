/* SPDX-License-Identifier: MIT */
/* Configures and loads the BPF objects. */
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <zstd.h>

#include "bpf/name_set.h"
#include "lib/live/bpf/programs_object.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/bpf/kernel_types.h"
#include "lib/live/bpf/programs_internal.h"
#include "lib/live/machine/host.h"
#include "lib/code/unwind/user_walk.h"
#include "prof.skel.h"
#include "running.skel.h"
#include "shared.skel.h"

/* Room for ended tasks whose pids are already free but that are not. */
#define DYING_TASKS 4096
/* Maximum bytes of stacks that a CPU copies per COPY_WINDOW_NS, which takes 1 to 2 ms. */
#define COPIED_MAX (8u << 20)

static int on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	_cleanup_free_ char *text = NULL;
	char *rest;

	if (level == LIBBPF_DEBUG || !log_enabled(LOG_DEBUG))
		return 0;
	rest = text = xvasprintf(fmt, args);
	/* The kernel explains a rejected program in many lines; the last gives the reason. */
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (*line)
			log_debug("libbpf: %s", line);
	}
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

/*
 * Returns the maximum number of processes and threads, including tasks being freed. pid_max alone
 * is 4 million on most machines: tables of that size would take longer than all other loading, and
 * 64 MB each.
 */
static uint32_t task_limit(void)
{
	uint64_t pid_max = read_number("/proc/sys/kernel/pid_max", 1 << 22);
	uint64_t limit = read_number("/proc/sys/kernel/threads-max", pid_max) + DYING_TASKS;

	return (uint32_t)(limit < pid_max ? limit : pid_max);
}

static void configure_filter(struct shared_bpf *shared, const struct filter *f)
{
	struct bpf_config *config = (struct bpf_config *)&shared->rodata_shared->config;

	config->record_all = f->all;
	config->include_self = f->include_self;
	config->skip_children = f->skip_children;
	config->filter = f->criteria;
	config->cgroup_hierarchy = f->cgroup_hierarchy;
	config->uid_count = (uint32_t)f->uids.count;
	for (size_t i = 0; i < f->uids.count; i++)
		config->uids[i] = f->uids.items[i];
	*(struct name_set *)&shared->rodata_shared->process_names = f->process_names;
	*(struct name_set *)&shared->rodata_shared->thread_names = f->thread_names;
}

/* Sets the maps' sizes; maps unused in this recording get the minimum. */
static int size_maps(const struct programs *p, const struct programs_options *options)
{
	const struct filter *filter = options->filter;
	bool by_cfi = options->unwind & UNWIND_BY_CFI;
	uint32_t limit = task_limit();
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{p->shared->maps.tracked, limit},
		{p->shared->maps.own_tids, proc_status_pid_namespace() ? limit : 1},
		{p->shared->maps.unwind_spaces, by_cfi ? limit : 1},
		{p->shared->maps.unwind_rules, by_cfi ? UNWIND_RULES_MAX : 1},
		{p->shared->maps.wanted, options->targets + (uint32_t)filter->pids.count + 1},
		{p->shared->maps.wanted_tids, (uint32_t)filter->tids.count + 1},
	};
	int code = bpf_map__reuse_fd(p->shared->maps.rings, p->rings_fd);

	if (!code)
		code = bpf_map__reuse_fd(p->shared->maps.unwind_shards, p->shards_fd);
	if (!code)
		code = bpf_map__set_autocreate(p->shared->maps.wait_rows, options->config.waits);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !code; i++)
		code = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return code;
}

void programs_leave_out(struct programs_options *options, const char *name)
{
	if (options->left_out_count < PROGRAMS_LEFT_OUT_MAX)
		options->left_out[options->left_out_count++] = name;
}

void programs_add_part(struct programs_options *options, const struct programs_part *part)
{
	if (options->part_count < PROGRAMS_PARTS_MAX)
		options->parts[options->part_count++] = *part;
}

void programs_keep_parts(struct programs_options *options)
{
	for (size_t i = 0; i < options->part_count; i++)
		options->parts[i].optional = NULL;
}

const char *programs_drop_parts(struct programs_options *options)
{
	const char *dropped = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < options->part_count; i++) {
		const struct programs_part part = options->parts[i];

		if (!part.optional) {
			options->parts[kept++] = part;
			continue;
		}
		dropped = part.optional;
		if (part.drop)
			part.drop(part.ctx, options);
	}
	options->part_count = kept;
	return dropped;
}

/* True if the filter needs the tasks that are already running. */
static bool has_to_scan(const struct programs_options *options)
{
	return options->targets || options->filter->all;
}

static int configure(const struct programs *p, const struct programs_options *options)
{
	struct bpf_config *config = (struct bpf_config *)&p->shared->rodata_shared->config;

	*config = options->config;
	configure_filter(p->shared, options->filter);
	config->pid_inode = proc_status_pid_namespace();
	config->wakeup_bytes = (uint32_t)(options->ring_bytes / 4);
	config->unwind = options->unwind;
	config->full_bytes = (uint32_t)(options->ring_bytes / 2);
	for (size_t i = 0; i < options->left_out_count; i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(p->skeleton->obj, options->left_out[i]),
			false);
	if (options->unwind & UNWIND_BY_CFI)
		config->copy_bytes = (uint32_t)MIN(options->ring_bytes * 2, COPIED_MAX);
	config->user_pc_mask = walk_own_pc_mask();
	config->stack_limit = (uint32_t)read_number("/proc/sys/kernel/perf_event_max_stack", 127);
	config->stack_limit = MIN(config->stack_limit, USER_DEPTH_MAX);
	return size_maps(p, options);
}

/*
 * Disguises a program that attaches to an entry of the kernel's BTF as another kind until libbpf is
 * about to load it: otherwise libbpf would read all types of the kernel to find the entry's number.
 */
static int prepare_tracing(struct bpf_program *program, struct bpf_prog_load_opts *options,
			   long point)
{
	options->attach_btf_id = ((const struct attach_point *)point)->number;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static int prepare_sleepable(struct bpf_program *program, struct bpf_prog_load_opts *options,
			     long point)
{
	options->prog_flags |= BPF_F_SLEEPABLE;
	return prepare_tracing(program, options, point);
}

static int attach_tracing(const struct bpf_program *program, long point, struct bpf_link **link)
{
	*link = bpf_program__attach_trace(program);
	return *link ? 0 : -errno;
}

/* Sections, and the attach points of their programs. */
static const struct {
	const char *section;
	const char *about; /* subject of the programs' events, for messages */
	enum bpf_attach_type type;
	libbpf_prog_prepare_load_fn_t prepare;
	libbpf_prog_attach_fn_t attach; /* NULL: attached by the owner */
	struct attach_point point;
} attach_points[PROGRAMS_HANDLERS] = {
	{"iter/task",
	 "its threads",
	 BPF_TRACE_ITER,
	 prepare_tracing,
	 NULL,
	 {.name = "bpf_iter_task"}},
	{"iter.s/task",
	 "its threads",
	 BPF_TRACE_ITER,
	 prepare_sleepable,
	 NULL,
	 {.name = "bpf_iter_task"}},
	{"tp_btf/sched_switch",
	 "context switches",
	 BPF_TRACE_RAW_TP,
	 prepare_tracing,
	 attach_tracing,
	 {.name = "btf_trace_sched_switch", .is_type = true}},
	{"tp_btf/sched_waking",
	 "wake-ups",
	 BPF_TRACE_RAW_TP,
	 prepare_tracing,
	 attach_tracing,
	 {.name = "btf_trace_sched_waking", .is_type = true}},
	{"tp_btf/sched_process_fork",
	 "forks",
	 BPF_TRACE_RAW_TP,
	 prepare_tracing,
	 attach_tracing,
	 {.name = "btf_trace_sched_process_fork", .is_type = true}},
};

/* Keeps one handler permanently: without any, libbpf frees its table, but uses it to add one. */
static int keep_handler(void)
{
	static bool is_kept;
	int handler = is_kept ? 0
			      : libbpf_register_prog_handler("none", BPF_PROG_TYPE_RAW_TRACEPOINT,
							     BPF_TRACE_RAW_TP, NULL);

	is_kept |= handler > 0;
	return handler < 0 ? handler : 0;
}

static int handle_sections(struct programs *p)
{
	int code = keep_handler();

	if (code)
		return code;
	for (size_t i = 0; i < PROGRAMS_HANDLERS; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)&p->points[i],
			    .prog_prepare_load_fn = attach_points[i].prepare,
			    .prog_attach_fn = attach_points[i].attach);

		p->handlers[i] = libbpf_register_prog_handler(attach_points[i].section,
							      BPF_PROG_TYPE_RAW_TRACEPOINT,
							      attach_points[i].type, &options);
		if (p->handlers[i] < 0)
			return p->handlers[i];
	}
	return 0;
}

/* Requests the attach points of the object's programs. */
static void add_points(struct programs *p, const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		for (size_t i = 0; i < PROGRAMS_HANDLERS; i++) {
			if (strcmp(bpf_program__section_name(program), attach_points[i].section) ==
			    0)
				p->points[i] = attach_points[i].point;
		}
	}
}

/* Writes the kernel types that all objects need, including late ones, to `file`. */
static int give_types(struct programs *p, int file, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf types = {0};
	struct type_names names = {0};
	int code;

	memset(p->points, 0, sizeof(p->points));
	type_names_add_needed(&names);
	vec_for_each(&p->parts, const struct open_part *, row)
		add_points(p, *row->skeleton->obj);
	code = kernel_types_read(&types, &names, p->points, PROGRAMS_HANDLERS, err);
	type_names_release(&names);
	for (size_t i = 0; i < PROGRAMS_HANDLERS && !code; i++) {
		if (p->points[i].name && !p->points[i].number)
			code = error_text(
				err, -ENOTSUP,
				"this kernel does not expose %s to BPF programs: its BTF has no %s",
				attach_points[i].about, p->points[i].name);
	}
	if (!code && write(file, types.text, types.size) != (ssize_t)types.size)
		code = error_set(err, -EIO, "cannot write the kernel's types");
	return code;
}

const void *object_unpack(struct object_bytes *object, const void *packed, size_t packed_size,
			  const void *(*prefix)(size_t *size), size_t *size)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t prefix_size = 0;
	const void *prefix_bytes = prefix ? prefix(&prefix_size) : NULL;

	pthread_mutex_lock(&lock);
	if (!object->bytes) {
		ZSTD_DCtx *context = ZSTD_createDCtx();

		object->size = ZSTD_getFrameContentSize(packed, packed_size);
		object->bytes = xmalloc(object->size);
		ZSTD_DCtx_refPrefix(context, prefix_bytes, prefix_size);
		if (ZSTD_decompressDCtx(context, object->bytes, object->size, packed,
					packed_size) != object->size)
			object->size = 0;
		ZSTD_freeDCtx(context);
	}
	pthread_mutex_unlock(&lock);
	*size = object->size;
	return object->bytes;
}

PROGRAMS_OBJECT(struct programs, running, running_bpf, programs_object_as_is, programs_object_as_is)

static int open_part(struct programs *p, const struct programs_part *part,
		     const struct bpf_object_open_opts *options)
{
	struct open_part row = {.part = *part};
	int code = part->open(part->ctx, options, &row.skeleton);

	if (!code)
		vec_push(&p->parts, row);
	return code;
}

static int open_objects(struct programs *p, const struct programs_options *options,
			const struct bpf_object_open_opts *open)
{
	const struct programs_part running = {
		.open = open_running_bpf, .close = close_running_bpf, .ctx = p};
	int code = 0;

	p->shared = shared_bpf__open_opts(open);
	if (p->shared)
		p->skeleton = prof_bpf__open_opts(open);
	if (!p->skeleton)
		return -errno;
	if (has_to_scan(options))
		code = open_part(p, &running, open);
	for (size_t i = 0; i < options->part_count && !code; i++)
		code = open_part(p, &options->parts[i], open);
	return code;
}

/* `types`: an empty file for the needed kernel types; -1: libbpf reads the kernel's own. */
static int load(struct programs *p, const struct programs_options *options, int types,
		struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, open);
	char path[64];
	int code = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	if (types >= 0)
		open.btf_custom_path = path;
	if (types >= 0)
		code = handle_sections(p);
	if (code)
		return error_set(err, code, "cannot register a libbpf handler");
	code = open_objects(p, options, &open);
	if (code)
		return error_set(err, code, "cannot open the BPF objects");
	if (types >= 0)
		code = give_types(p, types, err);
	if (code)
		return code;
	code = configure(p, options);
	if (code)
		return error_set(err, code, "cannot configure the BPF objects");
	code = programs_load_parts(p);
	return code ? error_set(err, code, "cannot load the BPF programs") : 0;
}

int programs_load_objects(struct programs *p, const struct programs_options *options,
			  struct error *err)
{
	struct error first = {0};
	int code;

	libbpf_set_print(on_libbpf_message);
	p->types_fd = memfd_create("types", MFD_CLOEXEC);
	if (p->types_fd < 0)
		code = error_set(&first, -errno, "cannot create a file in memory");
	else
		code = load(p, options, p->types_fd, &first);
	/* Retrying fails as well, with a less specific message. */
	if (code == -EPERM || code == -ENOTSUP)
		return error_text(err, code, "%s", first.text);
	if (!code)
		return 0;
	log_info("%s; retrying with all kernel types", first.text);
	programs_free_objects(p);
	return load(p, options, -1, err);
}

void programs_free_objects(struct programs *p)
{
	vec_for_each(&p->parts, const struct open_part *, row)
		row->part.close(row->part.ctx);
	vec_release(&p->parts);
	prof_bpf__destroy(steal(p->skeleton));
	shared_bpf__destroy(steal(p->shared));
	for (size_t i = 0; i < PROGRAMS_HANDLERS; i++) {
		if (p->handlers[i] > 0)
			libbpf_unregister_prog_handler(p->handlers[i]);
		p->handlers[i] = 0;
	}
	fd_close(p->types_fd);
	p->types_fd = -1;
}
