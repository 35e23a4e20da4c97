/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/recording/perf_data/perf_convert.h"
#include "lib/stream/record/record.h"

/* Bits of misc that the headers of older kernels lack. */
#define MISC_FORK_EXEC (1 << 13)
#define MISC_BUILD_ID (1 << 14)

#define GROUPS_MAX (1u << 16)
#define PID_KERNEL UINT32_MAX

/* Reads the text that the record ends with; "" if it is not terminated. */
static const char *read_text(struct perf_input *in)
{
	const char *text = bytes_cstr(&in->body.bytes);

	return text ? text : "";
}

static void send_name(struct perf_convert *c, const struct perf_input *in,
		      const struct perf_task *task, uint8_t flags)
{
	struct rec_name *rec = perf_out_add(&c->out, REC_NAME, sizeof(*rec), in->time, task->pid,
					    task->tid);

	rec->rec.flags = flags;
	memcpy(rec->name, task->name, sizeof(rec->name));
}

/* The stack of an exec itself is still that of the old program: it goes with the first mapping. */
static void begin_space(struct perf_convert *c, uint32_t pid, uint64_t time)
{
	struct rec_name *rec;

	if (!perf_tasks_begin_space(&c->tasks, pid))
		return;
	rec = perf_out_add(&c->out, REC_NAME, sizeof(*rec), time, pid, pid);
	rec->rec.flags = NAME_NEW_SPACE;
}

static void take_map(struct perf_convert *c, struct perf_input *in, struct perf_map *map)
{
	uint32_t module;

	map->time = in->time;
	map->file.path = read_text(in);
	if (in->body.bytes.failed || strlen(map->file.path) >= PATH_MAX)
		return;
	if (!map->is_kernel)
		begin_space(c, map->pid, map->time);
	module = perf_modules_map(&c->modules, map);
	if (map->is_kernel || !map->size || map->start + map->size < map->start)
		return;
	perf_tasks_map(&c->tasks, map->pid,
		       &(struct mapping){
			       .start = map->start,
			       .end = map->start + map->size,
			       .file_offset = module == NO_REC_MODULE ? map->start : map->offset,
			       .module = module == NO_REC_MODULE ? MAPPING_ANON : module,
		       });
}

static void read_range(struct perf_input *in, struct perf_map *map)
{
	uint16_t mode = in->head.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	map->pid = ordered_u32(&in->body);
	map->tid = ordered_u32(&in->body);
	map->start = ordered_u64(&in->body);
	map->size = ordered_u64(&in->body);
	map->offset = ordered_u64(&in->body);
	map->is_kernel = mode == PERF_RECORD_MISC_KERNEL || map->pid == PID_KERNEL;
}

static void take_mmap(struct perf_convert *c, struct perf_input *in)
{
	struct perf_map map = {0};

	read_range(in, &map);
	if (!(in->head.misc & PERF_RECORD_MISC_MMAP_DATA))
		take_map(c, in, &map);
}

/*
 * Reads a build id, after which the kernel writes zeros. False if there is none. Kernels mark
 * records for all listeners once one of them has asked for build ids, and the others get inodes all
 * the same.
 */
static bool read_build_id(struct perf_input *in, struct perf_mapped *file)
{
	static const uint8_t zeros[sizeof(file->build_id)];
	uint8_t size = bytes_u8(&in->body.bytes);
	const uint8_t *id;

	bytes_skip(&in->body.bytes, 3);
	id = bytes_take(&in->body.bytes, sizeof(file->build_id));
	if (!id || !size || size > sizeof(file->build_id) ||
	    memcmp(id + size, zeros, sizeof(file->build_id) - size) != 0)
		return false;
	file->build_id_size = size;
	memcpy(file->build_id, id, size);
	return true;
}

static void read_inode(struct perf_input *in, struct perf_mapped *file)
{
	uint32_t major = ordered_u32(&in->body);

	file->device = makedev(major, ordered_u32(&in->body));
	file->inode = ordered_u64(&in->body);
	ordered_u64(&in->body); /* generation */
}

static void take_mmap2(struct perf_convert *c, struct perf_input *in)
{
	struct perf_map map = {0};
	struct ordered_bytes identity;
	uint32_t protection;

	read_range(in, &map);
	identity = in->body;
	if (!(in->head.misc & MISC_BUILD_ID) || !read_build_id(in, &map.file)) {
		in->body = identity;
		read_inode(in, &map.file);
	}
	protection = ordered_u32(&in->body);
	ordered_u32(&in->body); /* flags */
	/* perf's own records of the kernel's code say nothing of that. */
	if (protection & PROT_EXEC || map.is_kernel)
		take_map(c, in, &map);
}

/* A name that perf has found itself, before the kernel's first record, has no time. */
static void take_name(struct perf_convert *c, struct perf_input *in)
{
	uint32_t pid = ordered_u32(&in->body), tid = ordered_u32(&in->body);
	const char *name = read_text(in);
	struct perf_task *task;

	if (in->body.bytes.failed)
		return;
	if (in->head.misc & PERF_RECORD_MISC_COMM_EXEC)
		perf_tasks_exec(&c->tasks, pid, tid);
	task = perf_tasks_get(&c->tasks, pid, tid);
	memset(task->name, 0, sizeof(task->name));
	memcpy(task->name, name, strnlen(name, sizeof(task->name) - 1));
	if (in->head.misc & PERF_RECORD_MISC_COMM_EXEC)
		send_name(c, in, task, NAME_EXEC);
	else
		send_name(c, in, task, in->time ? 0 : NAME_SCAN);
}

struct life {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

static bool read_life(struct perf_input *in, struct life *life)
{
	life->pid = ordered_u32(&in->body);
	life->parent_pid = ordered_u32(&in->body);
	life->tid = ordered_u32(&in->body);
	life->parent_tid = ordered_u32(&in->body);
	life->time = ordered_u64(&in->body);
	if (in->time || !clock_can_show(life->time))
		life->time = in->time;
	return !in->body.bytes.failed;
}

/* Forks that perf tells of running tasks are followed by their own mappings: the parent's do not
 * count. */
static void take_fork(struct perf_convert *c, struct perf_input *in)
{
	struct rec_fork *rec;
	struct life life;

	if (!read_life(in, &life) || in->head.misc & MISC_FORK_EXEC)
		return;
	rec = perf_out_add(&c->out, REC_FORK, sizeof(*rec), life.time, life.pid, life.tid);
	rec->parent_pid = life.parent_pid;
	rec->parent_tid = life.parent_tid;
	memcpy(rec->name, perf_tasks_get(&c->tasks, life.parent_pid, life.parent_tid)->name,
	       sizeof(rec->name));
	perf_tasks_fork(&c->tasks, rec);
}

static void take_exit(struct perf_convert *c, struct perf_input *in)
{
	struct rec_exit *rec;
	struct life life;
	struct perf_task *task;

	if (!read_life(in, &life))
		return;
	task = perf_tasks_get(&c->tasks, life.pid, life.tid);
	rec = perf_out_add(&c->out, REC_EXIT, sizeof(*rec), life.time, life.pid, life.tid);
	rec->rec.flags = EXIT_STATUS_UNKNOWN;
	rec->cpu_time = perf_convert_cpu_time(task, life.time);
	if (perf_tasks_exit(&c->tasks, life.pid, life.tid))
		rec->rec.flags |= EXIT_PROCESS;
}

static void take_cgroup(struct perf_convert *c, struct perf_input *in)
{
	struct perf_cgroup cgroup = {.id = ordered_u64(&in->body)};
	const char *path = read_text(in);

	if (in->body.bytes.failed || c->cgroups.count >= GROUPS_MAX)
		return;
	cgroup.path = xstrndup(path, PATH_MAX);
	vec_push(&c->cgroups, cgroup);
}

/* Functions of BPF programs and trampolines come and go; where one goes, another may come. */
static void take_symbol(struct perf_convert *c, struct perf_input *in)
{
	uint64_t start = ordered_u64(&in->body);
	uint32_t size = ordered_u32(&in->body);
	uint16_t flags;

	ordered_u16(&in->body); /* kind */
	flags = ordered_u16(&in->body);
	if (!(flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		perf_modules_kernel_symbol(&c->modules, in->time, start, size, read_text(in));
}

bool perf_convert_task(struct perf_convert *c, struct perf_input *in)
{
	switch (in->head.type) {
	case PERF_RECORD_MMAP:
		take_mmap(c, in);
		return true;
	case PERF_RECORD_MMAP2:
		take_mmap2(c, in);
		return true;
	case PERF_RECORD_COMM:
		take_name(c, in);
		return true;
	case PERF_RECORD_FORK:
		take_fork(c, in);
		return true;
	case PERF_RECORD_EXIT:
		take_exit(c, in);
		return true;
	case PERF_RECORD_CGROUP:
		take_cgroup(c, in);
		return true;
	case PERF_RECORD_KSYMBOL:
		take_symbol(c, in);
		return true;
	case PERF_RECORD_BPF_EVENT: /* its functions are told as symbols */
	case PERF_RECORD_NAMESPACES: /* files are found by build id and inode */
		return true;
	default:
		return false;
	}
}
