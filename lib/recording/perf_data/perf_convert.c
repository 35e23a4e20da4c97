/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_convert.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lib/stream/record/records.h"

/* Bounds memory; above the CPUs of any machine. */
#define CPUS_MAX 65535
#define CHANCE_CERTAIN UINT32_MAX
/* First bytes of the formats of tracepoints; trace-cmd uses the same. */
static const char tracing_magic[] = "\x17\x08\x44tracing";
#define ID_PREFIX "\nID: "

static uint32_t event_of(const struct perf_convert *c, uint64_t id)
{
	uint32_t attr = perf_attrs_find(&c->file->attrs, id);

	if (attr == UINT32_MAX)
		attr = 0;
	return c->file->attrs.rows.items[attr].event;
}

static void send_lost(struct perf_convert *c, const struct perf_input *in, uint32_t event,
		      uint64_t count)
{
	struct rec_lost *rec = perf_out_add(&c->out, REC_LOST, sizeof(*rec), in->time, 0, 0);

	rec->rec.cpu = (uint16_t)in->trailer.cpu;
	rec->cause = LOST_RING_FULL;
	rec->event = event == UINT32_MAX ? 0 : event;
	rec->count = count;
}

static void take_lost(struct perf_convert *c, struct perf_input *in)
{
	uint64_t id = ordered_u64(&in->body), count = ordered_u64(&in->body);

	if (!in->body.bytes.failed)
		send_lost(c, in, event_of(c, id), count);
}

static void take_lost_samples(struct perf_convert *c, struct perf_input *in)
{
	uint64_t count = ordered_u64(&in->body);

	if (!in->body.bytes.failed)
		send_lost(c, in, event_of(c, in->trailer.id), count);
}

/* Handles the kernel's records of throttling and its end on a CPU. */
static void take_throttling(struct perf_convert *c, struct perf_input *in)
{
	uint32_t cpu = in->trailer.cpu;
	struct rec_throttled *rec;
	uint64_t id, since;

	ordered_u64(&in->body); /* skip the time */
	id = ordered_u64(&in->body);
	if (in->body.bytes.failed || cpu >= CPUS_MAX)
		return;
	if (c->throttled.count <= cpu)
		vec_add_zeroed(&c->throttled, cpu + 1 - c->throttled.count);
	since = c->throttled.items[cpu];
	c->throttled.items[cpu] = in->head.type == PERF_RECORD_THROTTLE ? in->time : 0;
	if (in->head.type == PERF_RECORD_THROTTLE)
		return;
	rec = perf_out_add(&c->out, REC_THROTTLED, sizeof(*rec), in->time, 0, 0);
	rec->rec.cpu = (uint16_t)cpu;
	rec->duration = since && in->time > since ? in->time - since : 0;
	rec->event = event_of(c, id);
}

static struct wait_reason reason_of(const struct perf_task *task)
{
	return (struct wait_reason){
		.call = WAIT_CALL_UNKNOWN,
		.state = task->was_preempted ? WAIT_RUNNABLE : WAIT_SLEEPING,
	};
}

static uint32_t perf_convert_cpu_time(const struct perf_task *task, uint64_t time);

static void switch_out(struct perf_convert *c, const struct perf_input *in, struct perf_task *task)
{
	struct rec_wait *rec;

	if (task->on_ns && in->time > task->on_ns)
		task->cpu_ns += in->time - task->on_ns;
	task->on_ns = 0;
	task->off_ns = in->time;
	task->was_preempted = in->head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	rec = perf_out_add(&c->out, REC_WAIT, sizeof(*rec), in->time, task->pid, task->tid);
	rec->sample.rec.cpu = (uint16_t)in->trailer.cpu;
	rec->sample.rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF;
	rec->sample.cpu_time = perf_convert_cpu_time(task, in->time);
	rec->start = in->time;
	rec->chance = CHANCE_CERTAIN;
	rec->reason = reason_of(task);
	/* The switch may also have been recorded with its stack. */
	if (!task->switch_ns)
		return;
	rec->sample.rec.flags = task->switch_flags;
	rec->sample.leaf = task->switch_leaf;
	rec->sample.stack_id = task->switch_stack;
	task->switch_ns = 0;
}

static void switch_in(struct perf_convert *c, const struct perf_input *in, struct perf_task *task)
{
	struct rec_resumed *rec;

	task->on_ns = in->time;
	if (!task->off_ns)
		return;
	rec = perf_out_add(&c->out, REC_RUN, sizeof(*rec), in->time, task->pid, task->tid);
	rec->rec.cpu = (uint16_t)in->trailer.cpu;
	rec->rec.flags = RUN_SAMPLED | RUN_QUEUE_UNKNOWN;
	rec->start = task->off_ns;
	rec->cpu_time = perf_convert_cpu_time(task, in->time);
	rec->chance = CHANCE_CERTAIN;
	rec->reason = reason_of(task);
	task->off_ns = 0;
}

/* The idle task does not wait. */
static void take_switch(struct perf_convert *c, struct perf_input *in)
{
	struct perf_task *task;

	if (!in->trailer.tid || in->trailer.tid == UINT32_MAX)
		return;
	task = perf_tasks_get(&c->tasks, in->trailer.pid, in->trailer.tid);
	if (in->head.misc & PERF_RECORD_MISC_SWITCH_OUT)
		switch_out(c, in, task);
	else
		switch_in(c, in, task);
}

static void perf_convert_fill(struct rec_sample *rec, const struct perf_sample *sample,
			      const struct perf_place *place);

/* Converts a wait that has ended. */
static void perf_convert_wait(struct perf_convert *c, const struct perf_sample *sample,
			      const struct perf_place *place)
{
	const struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);
	const struct wait_reason reason = {.call = WAIT_CALL_UNKNOWN, .state = WAIT_SLEEPING};
	uint32_t cpu_time = perf_convert_cpu_time(task, sample->time);
	uint64_t start = sample->period < sample->time ? sample->time - sample->period : 0;
	struct rec_wait *wait;
	struct rec_resumed *run;

	if (!sample->period)
		return;
	wait = perf_out_add(&c->out, REC_WAIT, sizeof(*wait), sample->time, sample->pid,
			    sample->tid);
	perf_convert_fill(&wait->sample, sample, place);
	wait->sample.cpu_time = cpu_time;
	wait->start = start;
	wait->reason = reason;
	run = perf_out_add(&c->out, REC_RUN, sizeof(*run), sample->time, sample->pid, sample->tid);
	run->rec.cpu = UINT16_MAX;
	run->rec.flags = RUN_QUEUE_UNKNOWN;
	run->start = start;
	run->cpu_time = cpu_time;
	run->reason = reason;
}

/* Converts losses, throttling and context switches. False for any other record. */
static bool perf_convert_event(struct perf_convert *c, struct perf_input *in)
{
	switch (in->head.type) {
	case PERF_RECORD_CALLCHAIN_DEFERRED: /* its samples already have its addresses */
		return true;
	case PERF_RECORD_LOST:
		take_lost(c, in);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		take_lost_samples(c, in);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		take_throttling(c, in);
		return true;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(c, in);
		return true;
	default:
		return false;
	}
}

/* Bits of misc that older kernels' headers lack. */
#define MISC_FORK_EXEC (1 << 13)
#define MISC_BUILD_ID (1 << 14)

#define GROUPS_MAX (1u << 16)
#define PID_KERNEL UINT32_MAX

/* Reads the text at the end of the record; "" if it is not terminated. */
static const char *read_text(struct perf_input *in)
{
	return bytes_cstr(&in->body.bytes) ?: "";
}

static void send_name(struct perf_convert *c, const struct perf_input *in,
		      const struct perf_task *task, uint8_t flags)
{
	struct rec_name *rec = perf_out_add(&c->out, REC_NAME, sizeof(*rec), in->time, task->pid,
					    task->tid);

	rec->rec.flags = flags;
	memcpy(rec->name, task->name, sizeof(rec->name));
}

/*
 * The stack of an exec itself is still that of the old program; the mappings are replaced with the
 * first new mapping.
 */
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
 * Reads a build id, padded with zeros. False if there is none. Once one listener has requested
 * build ids, kernels mark the records of all listeners, although the other listeners get inodes.
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
	ordered_u64(&in->body); /* skip the generation */
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
	ordered_u32(&in->body); /* skip the flags */
	/* perf's own records of the kernel's code have no protection. */
	if (protection & PROT_EXEC || map.is_kernel)
		take_map(c, in, &map);
}

/* Names that perf itself found before the kernel's first record have no time. */
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

/*
 * perf's own fork records of running tasks are followed by the tasks' mappings, so these do not
 * inherit the parent's.
 */
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

/* Functions of BPF programs and trampolines are temporary; their addresses are reused. */
static void take_symbol(struct perf_convert *c, struct perf_input *in)
{
	uint64_t start = ordered_u64(&in->body);
	uint32_t size = ordered_u32(&in->body);
	uint16_t flags;

	ordered_u16(&in->body); /* skip the kind */
	flags = ordered_u16(&in->body);
	if (!(flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		perf_modules_kernel_symbol(&c->modules, in->time, start, size, read_text(in));
}

/* Converts mappings, forks, exits and control groups. False for any other record. */
static bool perf_convert_task(struct perf_convert *c, struct perf_input *in)
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
	case PERF_RECORD_BPF_EVENT: /* its functions are reported as symbols */
	case PERF_RECORD_NAMESPACES: /* files are found by build id and inode */
		return true;
	default:
		return false;
	}
}

#define SECOND_NS 1000000000ull
/* Tracepoint hit when a thread leaves its CPU. */
#define SWITCH_NAME "sched:sched_switch"

/* Returns the fixed distance between a clock's samples. */
static uint64_t interval_of(const struct perf_attrs *attrs)
{
	vec_for_each(&attrs->rows, const struct perf_attr *, attr) {
		if (attr->event || !attr->period)
			continue;
		if (!attr->is_frequency)
			return attr->period;
		return attr->period < SECOND_NS ? SECOND_NS / attr->period : 1;
	}
	return 0;
}

void perf_convert_init(struct perf_convert *c, struct perf_file *file)
{
	*c = (struct perf_convert){.file = file};
	c->modules = (struct perf_modules){.features = &file->features, .out = &c->out};
	perf_stacks_init(&c->stacks, &c->out);
	perf_deferred_find(&c->deferred, file);
	c->interval_ns = interval_of(&file->attrs);
	vec_for_each(&file->attrs.rows, const struct perf_attr *, attr)
		c->has_switches |= attr->has_switches;
}

INDEX_EQUAL(count_equal, struct perf_counts, rows, a->id == b->id && a->tid == b->tid)

/* Returns the increase of the counter since its last value, and stores this one. */
static uint64_t perf_counts_increase(struct perf_counts *c, uint64_t id, uint32_t tid,
				     uint64_t value)
{
	const struct perf_count wanted = {.id = id, .tid = tid};
	uint64_t hash = hash_pair(id, tid), before;
	uint32_t row = index_intern(&c->by_id, hash, count_equal, c, &wanted, c->rows.count);

	if (row == c->rows.count)
		vec_push(&c->rows, wanted);
	before = c->rows.items[row].value;
	c->rows.items[row].value = value;
	/* A decrease means a restart: ids of ended threads may be reused. */
	return value < before ? value : value - before;
}

void perf_convert_release(struct perf_convert *c)
{
	perf_stacks_release(&c->stacks);
	vec_release(&c->deferred.rows);
	vec_release(&c->tracepoints);
	vec_release(&c->counts.rows);
	index_release(&c->counts.by_id);
	perf_modules_release(&c->modules);
	perf_tasks_release(&c->tasks);
	vec_for_each(&c->cgroups, struct perf_cgroup *, cgroup)
		free(cgroup->path);
	vec_release(&c->cgroups);
	vec_release(&c->throttled);
	vec_release(&c->out.words);
}

static void name_event(struct perf_convert *c, uint32_t event, const char *name)
{
	size_t size = strlen(name);
	struct rec_event_name *rec = perf_out_add(&c->out, REC_EVENT_NAME,
						  rec_event_name_size(size), 0, 0, 0);

	rec->event = event;
	rec->name_size = (uint32_t)size;
	memcpy(rec->name, name, size);
}

static void skip_sized(struct bytes *b)
{
	uint64_t size = bytes_u64(b);

	if (size > bytes_left(b))
		b->failed = true;
	else
		bytes_skip(b, size);
}

/* Skips the header before the list of systems. False if the format is unknown. */
static bool skip_tracing_head(struct bytes *b)
{
	const void *start = bytes_take(b, sizeof(tracing_magic) - 1);
	uint32_t count;

	if (!start || memcmp(start, tracing_magic, sizeof(tracing_magic) - 1))
		return false;
	bytes_cstr(b); /* skip the version */
	if (bytes_u8(b))
		return false;
	bytes_skip(b, 1 + 4); /* skip the size of a long and of a page */
	for (int i = 0; i < 2; i++) {
		bytes_cstr(b); /* skip "header_page" or "header_event" */
		skip_sized(b);
	}
	count = bytes_u32(b);
	for (uint32_t i = 0; i < count && !b->failed; i++)
		skip_sized(b);
	return !b->failed;
}

/* Finds the events of this tracepoint by the kernel's number for it. */
static void take_format(struct perf_convert *c, const char *text, size_t size)
{
	const struct perf_attrs *attrs = &c->file->attrs;
	const char *id = memmem(text, size, ID_PREFIX, sizeof(ID_PREFIX) - 1);
	uint64_t number = 0;

	if (!id)
		return;
	id += sizeof(ID_PREFIX) - 1;
	if (!text_scan_decimal(&id, text + size, &number))
		return;
	for (uint32_t i = 0; i < attrs->rows.count; i++) {
		const struct perf_attr *attr = &attrs->rows.items[i];
		struct perf_tracepoint row = {.attr = i};
		_cleanup_free_ struct rec_schema *rec = NULL;
		struct marker_schema schema;

		if (attr->type != PERF_TYPE_TRACEPOINT || attr->config != number ||
		    tracepoint_format_parse(&row.format, attr->name, text, size, NULL))
			continue;
		vec_push(&c->tracepoints, row);
		schema = schema_of_tracepoint(attr->name, &row.format);
		rec = schema_record_new(&schema, (uint32_t)c->tracepoints.count - 1, 0);
		perf_out_copy(&c->out, &rec->rec);
	}
}

/*
 * Parses the formats of the file's events, and sends their schemas. Formats that are damaged, or in
 * the other byte order, are left out.
 */
static void begin_tracepoints(struct perf_convert *c)
{
	const struct perf_file *file = c->file;
	struct bytes b;
	uint32_t systems;

	bytes_init(&b, file->features.tracing, file->features.tracing_size);
	if (file->is_swapped || !file->features.tracing || !skip_tracing_head(&b))
		return;
	systems = bytes_u32(&b);
	for (uint32_t i = 0; i < systems && !b.failed; i++) {
		uint32_t count;

		bytes_cstr(&b); /* skip the name of the tracepoint system */
		count = bytes_u32(&b);
		for (uint32_t j = 0; j < count && !b.failed; j++) {
			uint64_t size = bytes_u64(&b);
			_cleanup_free_ char *text = NULL;
			const char *at;

			if (size > bytes_left(&b))
				return;
			at = bytes_take(&b, size);
			if (!at)
				return;
			text = xstrndup(at, size);
			take_format(c, text, strlen(text));
		}
	}
}

void perf_convert_begin(struct perf_convert *c)
{
	vec_for_each(&c->file->attrs.rows, const struct perf_attr *, attr) {
		if (attr->event && attr->event != UINT32_MAX)
			name_event(c, attr->event, attr->name);
	}
	if (c->branch_event)
		name_event(c, c->branch_event, PERF_BRANCHES);
	begin_tracepoints(c);
}

/* Returns a thread's CPU time at a time, in the unit of struct rec_sample. */
static uint32_t perf_convert_cpu_time(const struct perf_task *task, uint64_t time)
{
	uint64_t ns = task->cpu_ns;

	if (task->on_ns && time > task->on_ns)
		ns += time - task->on_ns;
	return (uint32_t)(ns >> 4);
}

static const char *cgroup_path(const struct perf_convert *c, uint64_t id)
{
	const struct perf_cgroup *cgroup = vec_find(&c->cgroups, it, it->id == id);

	return cgroup ? cgroup->path : NULL;
}

/* Sends the control group in a sample if its process has moved to it. */
static void send_cgroup(struct perf_convert *c, const struct perf_sample *sample)
{
	struct perf_process *process = perf_tasks_process(&c->tasks, sample->pid);
	const char *path;
	struct rec_container *rec;
	size_t size;

	if (!sample->cgroup || process->cgroup == sample->cgroup)
		return;
	process->cgroup = sample->cgroup;
	path = cgroup_path(c, sample->cgroup);
	if (!path)
		return;
	size = strcmp(path, "/") == 0 ? 0 : strlen(path);
	rec = perf_out_add(&c->out, REC_CONTAINER, rec_container_size(size), sample->time,
			   sample->pid, sample->tid);
	rec->cgroup_size = (uint32_t)size;
	memcpy(rec->cgroup, path, size);
}

/* Fills in a sample's stack and leaf, and its CPU. */
static void perf_convert_fill(struct rec_sample *rec, const struct perf_sample *sample,
			      const struct perf_place *place)
{
	rec->rec.flags = place->flags;
	rec->rec.cpu = sample->cpu < UINT16_MAX ? (uint16_t)sample->cpu : UINT16_MAX;
	rec->leaf = place->leaf;
	rec->stack_id = place->stack;
}

/* Sends a tick of the clock. */
static void send_tick(struct perf_convert *c, const struct perf_attr *attr,
		      const struct perf_sample *sample, const struct perf_place *place)
{
	struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);
	uint64_t period = attr->sample_type & PERF_SAMPLE_PERIOD ? sample->period : c->interval_ns;
	uint64_t weight = c->interval_ns ? (period + c->interval_ns / 2) / c->interval_ns : 1;
	struct rec_sample *rec;

	/* Without switches, estimate CPU time from ticks; the idle task has none. */
	if (!c->has_switches && sample->pid)
		task->cpu_ns += period;
	rec = perf_out_add(&c->out, REC_SAMPLE, sizeof(*rec), sample->time, sample->pid,
			   sample->tid);
	perf_convert_fill(rec, sample, place);
	rec->rec.weight = weight < 1 ? 1 : weight < UINT16_MAX ? (uint16_t)weight : UINT16_MAX;
	rec->cpu_time = perf_convert_cpu_time(task, sample->time);
}

static void send_event(struct perf_convert *c, const struct perf_attr *attr,
		       const struct perf_sample *sample, const struct perf_place *place)
{
	struct rec_event *rec = perf_out_add(&c->out, REC_EVENT, sizeof(*rec), sample->time,
					     sample->pid, sample->tid);

	perf_convert_fill(&rec->sample, sample, place);
	rec->period = sample->period;
	rec->event = attr->event;
}

/*
 * Splits a sample of a group ({a,b}:S) into one for each member whose count has grown. The leader's
 * was already sent.
 */
static void send_members(struct perf_convert *c, const struct perf_attr *leader,
			 const struct perf_sample *sample, const struct perf_place *place)
{
	const struct perf_attrs *attrs = &c->file->attrs;
	struct perf_sample part = *sample;

	for (uint64_t i = 0; i < sample->value_count; i++) {
		size_t at = i * sample->value_words;
		uint64_t value = ordered_word(sample->values, at, sample->is_swapped);
		uint64_t id = ordered_word(sample->values, at + 1, sample->is_swapped);
		uint32_t member = perf_attrs_find(attrs, id);
		const struct perf_attr *attr;

		if (member == UINT32_MAX)
			continue;
		attr = &attrs->rows.items[member];
		part.period = perf_counts_increase(&c->counts, id,
						   attr->is_inherited ? sample->tid : 0, value);
		if (part.period && attr != leader && attr->event && attr->event != UINT32_MAX)
			send_event(c, attr, &part, place);
	}
}

/* Spaces samples without times by the clock's interval. */
static void set_time(struct perf_convert *c, struct perf_sample *sample)
{
	if (!c->file->has_times)
		sample->time = c->untimed++ * (c->interval_ns ? c->interval_ns : SECOND_NS / 1000);
}

/* Keeps the stack of a thread that leaves the CPU for its wait. */
static void note_switch(struct perf_convert *c, const struct perf_sample *sample,
			const struct perf_place *place)
{
	struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);

	task->switch_ns = sample->time;
	task->switch_leaf = place->leaf;
	task->switch_stack = place->stack;
	task->switch_flags = place->flags;
}

static void send_branches(struct perf_convert *c, const struct perf_attr *attr,
			  const struct perf_sample *sample)
{
	if (!c->branch_event || attr->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return;
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		const struct perf_attr branches = {.event = c->branch_event};
		struct perf_sample branch = *sample;
		struct perf_place place = perf_stacks_branch(&c->stacks, sample, i);

		branch.period = 1;
		send_event(c, &branches, &branch, &place);
	}
}

/* Sends a sample of a tracepoint as a marker of its fields, if its event has a format. */
static void send_tracepoint(struct perf_convert *c, const struct perf_attr *attr,
			    const struct perf_sample *sample, const struct perf_place *place)
{
	uint32_t number = (uint32_t)(attr - c->file->attrs.rows.items);
	const struct perf_tracepoint *row =
		sample->raw ? vec_find(&c->tracepoints, it, it->attr == number) : NULL;
	const struct rec_marker_stack stack = {
		.time = sample->time,
		.leaf = place->leaf,
		.stack_id = place->stack,
		.pid = sample->pid,
		.tid = sample->tid,
		.flags = place->flags,
	};
	struct marker_record marker = {
		.cpu = (__u16)sample->cpu,
		.pid = sample->pid,
		.tid = sample->tid,
		.start = sample->time,
		.end = sample->time,
		.cause = &stack,
	};
	_cleanup_free_ struct rec_marker *rec = NULL;

	if (!row)
		return;
	marker.schema = (uint32_t)(row - c->tracepoints.items);
	marker_set_tracepoint(&marker, &row->format, sample->raw, sample->raw_size);
	rec = marker_record_new(&marker);
	perf_out_copy(&c->out, &rec->rec);
}

static void perf_convert_sample(struct perf_convert *c, const struct perf_attr *attr,
				struct perf_sample *sample, uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct perf_place place;

	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER) {
		c->file->left_out[PERF_LEFT_GUEST]++;
		return;
	}
	if (attr->event == UINT32_MAX && !attr->is_wait) {
		c->file->left_out[PERF_LEFT_EVENTS]++;
		return;
	}
	set_time(c, sample);
	if (attr->sample_type & PERF_SAMPLE_CGROUP)
		send_cgroup(c, sample);
	place = perf_stacks_place(&c->stacks, attr, sample, mode == PERF_RECORD_MISC_KERNEL,
				  &c->tasks);
	if (attr->is_wait)
		perf_convert_wait(c, sample, &place);
	else if (attr->event)
		send_event(c, attr, sample, &place);
	else
		send_tick(c, attr, sample, &place);
	send_members(c, attr, sample, &place);
	send_branches(c, attr, sample);
	if (attr->type != PERF_TYPE_TRACEPOINT)
		return;
	send_tracepoint(c, attr, sample, &place);
	if (c->has_switches && strcmp(attr->name, SWITCH_NAME) == 0)
		note_switch(c, sample, &place);
}

/* Removes and parses the trailer. */
static void read_trailer(struct perf_input *in, bool is_swapped)
{
	const uint64_t type = in->attr->sample_type;
	size_t words = !!(type & PERF_SAMPLE_TID) + !!(type & PERF_SAMPLE_TIME) +
		       !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID) +
		       !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_IDENTIFIER);
	size_t size = bytes_left(&in->body.bytes);
	struct ordered_bytes b;

	in->trailer = (struct perf_trailer){.cpu = UINT32_MAX};
	if (!in->attr->has_trailer || size < words * 8)
		return;
	b = ordered_bytes_of(in->body.bytes.end - words * 8, words * 8, is_swapped);
	in->body.bytes.end -= words * 8;
	if (type & PERF_SAMPLE_TID) {
		in->trailer.pid = ordered_u32(&b);
		in->trailer.tid = ordered_u32(&b);
	}
	if (type & PERF_SAMPLE_TIME)
		ordered_u64(&b);
	if (type & PERF_SAMPLE_ID)
		in->trailer.id = ordered_u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		ordered_u64(&b);
	if (type & PERF_SAMPLE_CPU)
		in->trailer.cpu = ordered_u32(&b);
}

void perf_convert_record(struct perf_convert *c, size_t row)
{
	const struct perf_file *file = c->file;
	const void *record = perf_store_get(&file->store, row);
	uint64_t time = file->store.order.items[row].key;
	struct perf_input in = {.head = perf_file_head(file, record), .time = time};
	uint32_t attr = perf_file_attr(file, record);
	const char *body = (const char *)record + sizeof(struct perf_event_header);
	size_t size = in.head.size - sizeof(struct perf_event_header);
	struct perf_sample sample;

	/* The attribute was known when the record was read. */
	if (attr >= file->attrs.rows.count)
		return;
	in.attr = &file->attrs.rows.items[attr];
	if (in.head.type == PERF_RECORD_SAMPLE) {
		if (perf_sample_read(&sample, in.attr, body, size, file->is_swapped)) {
			sample.time = time;
			perf_deferred_set(&c->deferred, file, row, &sample);
			perf_convert_sample(c, in.attr, &sample, in.head.misc);
		} else {
			c->file->damaged_bytes += in.head.size;
		}
		return;
	}
	in.body = ordered_bytes_of(body, size, file->is_swapped);
	read_trailer(&in, file->is_swapped);
	if (!perf_convert_task(c, &in) && !perf_convert_event(c, &in))
		c->file->left_out[PERF_LEFT_OTHER]++;
	if (in.body.bytes.failed)
		c->file->damaged_bytes += in.head.size;
}
