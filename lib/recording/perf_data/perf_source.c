/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_source.h"

#include <elf.h>
#include <linux/perf_event.h>

#include "lib/code/unwind/user_walk.h"
#include "lib/recording/perf_data/perf_convert.h"

void perf_tasks_release(struct perf_tasks *t)
{
	vec_for_each(&t->processes, struct perf_process *, process) {
		if (process->mappings)
			mapping_table_drop(process->mappings);
	}
	vec_release(&t->rows);
	vec_release(&t->processes);
	index_release(&t->by_tid);
	index_release(&t->by_pid);
}

INDEX_HAS(tid_equal, struct perf_tasks, rows, tid)

INDEX_HAS(pid_equal, struct perf_tasks, processes, pid)

struct perf_process *perf_tasks_process(struct perf_tasks *t, uint32_t pid)
{
	uint32_t row = index_intern(&t->by_pid, hash_u64(pid), pid_equal, t, &pid,
				    t->processes.count);

	if (row == t->processes.count)
		vec_push(&t->processes, (struct perf_process){.pid = pid});
	return &t->processes.items[row];
}

struct perf_task *perf_tasks_get(struct perf_tasks *t, uint32_t pid, uint32_t tid)
{
	uint32_t row = index_intern(&t->by_tid, hash_u64(tid), tid_equal, t, &tid, t->rows.count);
	struct perf_task *task;

	if (row == t->rows.count)
		vec_push(&t->rows, (struct perf_task){.tid = tid});
	task = &t->rows.items[row];
	if (!task->is_alive || task->pid != pid) {
		*task = (struct perf_task){.pid = pid, .tid = tid, .is_alive = true};
		perf_tasks_process(t, pid)->alive++;
	}
	return task;
}

void perf_tasks_fork(struct perf_tasks *t, const struct rec_fork *fork)
{
	uint32_t pid = fork->rec.pid, tid = fork->rec.tid;
	struct perf_task *task = perf_tasks_get(t, pid, tid);
	struct mapping_table *mappings;
	struct perf_process *process;

	*task = (struct perf_task){.pid = pid, .tid = tid, .is_alive = true};
	memcpy(task->name, fork->name, sizeof(task->name));
	if (pid == fork->parent_pid)
		return;
	mappings = perf_tasks_process(t, fork->parent_pid)->mappings;
	process = perf_tasks_process(t, pid);
	if (process->mappings)
		mapping_table_drop(process->mappings);
	*process = (struct perf_process){.pid = pid, .alive = 1};
	if (mappings)
		process->mappings = mapping_table_hold(mappings);
}

bool perf_tasks_exit(struct perf_tasks *t, uint32_t pid, uint32_t tid)
{
	struct perf_task *task = perf_tasks_get(t, pid, tid);
	struct perf_process *process = perf_tasks_process(t, pid);

	task->is_alive = false;
	if (process->alive)
		process->alive--;
	return !process->alive;
}

void perf_tasks_exec(struct perf_tasks *t, uint32_t pid, uint32_t tid)
{
	struct perf_process *process;

	perf_tasks_get(t, pid, tid);
	process = perf_tasks_process(t, pid);
	process->alive = 1;
	process->is_replaced = true;
}

bool perf_tasks_begin_space(struct perf_tasks *t, uint32_t pid)
{
	struct perf_process *process = perf_tasks_process(t, pid);

	if (!process->is_replaced)
		return false;
	process->is_replaced = false;
	process->ready_stamp = 0;
	if (process->mappings)
		mapping_table_drop(process->mappings);
	process->mappings = NULL;
	return true;
}

void perf_tasks_map(struct perf_tasks *t, uint32_t pid, const struct mapping *mapping)
{
	struct perf_process *process = perf_tasks_process(t, pid);

	if (!process->mappings)
		process->mappings = mapping_table_new();
	if (mapping_table_insert(&process->mappings, mapping, t->last_stamp + 1))
		t->last_stamp++;
}

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64
/* Parent of all kernel threads. */
#define KTHREADD 2
#define USUAL_INTERVAL_NS 1000000

struct perf_source {
	struct source source;
	struct perf_file file;
	struct perf_convert convert;
	size_t next;
};

static int next(struct source *source, const struct rec **rec, struct error *err)
{
	struct perf_source *s = (struct perf_source *)source;

	while (!(*rec = perf_out_next(&s->convert.out))) {
		if (s->next == s->file.store.order.count)
			return SOURCE_END;
		perf_convert_record(&s->convert, s->next++);
	}
	return SOURCE_RECORD;
}

static uint16_t machine_of(const struct perf_file *file)
{
	const char *arch = file->features.arch;

	if (!arch)
		return unwind_machine_own().arch->machine;
	if (strcmp(arch, "x86_64") == 0)
		return EM_X86_64;
	return strcmp(arch, "aarch64") == 0 ? EM_AARCH64 : EM_NONE;
}

static bool has_stacks(const struct perf_file *file)
{
	return vec_find(&file->attrs.rows, attr, attr->user_regs);
}

int perf_source_open(struct perf_source **out, int fd, const struct perf_source_options *options,
		     struct error *err)
{
	static const struct source_ops ops = {.next = next};
	struct perf_source *s = xcalloc(1, sizeof(*s));
	struct perf_convert *c = &s->convert;
	int ret = perf_file_read(&s->file, fd, err);
	uint32_t event;

	s->source.ops = &ops;
	event = perf_attrs_number(&s->file.attrs, options->max_event);
	perf_convert_init(c, &s->file);
	c->branch_event = options->branches && event <= options->max_event ? event : 0;
	c->modules.open_file = options->open_file;
	c->modules.ctx = options->ctx;
	if (has_stacks(&s->file)) {
		c->modules.files = file_set_new(RESERVED_FILES);
		perf_stacks_walk(&c->stacks, &c->modules, machine_of(&s->file));
	}
	if (ret) {
		perf_source_free(s);
		return ret;
	}
	perf_convert_begin(c);
	*out = s;
	return 0;
}

void perf_source_free(struct perf_source *s)
{
	if (!s)
		return;
	perf_convert_release(&s->convert);
	perf_file_release(&s->file);
	free(s);
}

struct source *perf_source_records(struct perf_source *s)
{
	return &s->source;
}

const struct perf_file *perf_source_file(const struct perf_source *s)
{
	return &s->file;
}

uint64_t perf_source_interval(const struct perf_source *s)
{
	return s->convert.interval_ns ? s->convert.interval_ns : USUAL_INTERVAL_NS;
}

/* A record that names a task. */
struct naming {
	uint32_t pid, tid;
	const char *name;
	bool is_exec;
};

static bool read_naming(const struct perf_file *file, const void *record, struct naming *naming)
{
	struct perf_head head = perf_file_head(file, record);
	struct ordered_bytes b = ordered_bytes_of(record, head.size, file->is_swapped);

	if (head.type != PERF_RECORD_COMM)
		return false;
	bytes_skip(&b.bytes, sizeof(struct perf_event_header));
	naming->pid = ordered_u32(&b);
	naming->tid = ordered_u32(&b);
	naming->name = bytes_cstr(&b.bytes);
	naming->is_exec = head.misc & PERF_RECORD_MISC_COMM_EXEC;
	return naming->name;
}

/*
 * Finds the subject. Names without times belong to tasks that ran before the recording. A single
 * process is the command, or the process attached to; its first exec names it. Kernel threads occur
 * if all processes were recorded.
 */
struct perf_origin perf_source_origin(const struct perf_source *s)
{
	const struct perf_store *store = &s->file.store;
	struct perf_origin origin = {.has_copies = has_stacks(&s->file)};
	bool is_one = true, has_exec = false;

	for (size_t i = 0; i < store->order.count && !has_exec; i++) {
		struct naming naming;

		if ((store->order.items[i].key && !is_one) ||
		    !read_naming(&s->file, perf_store_get(store, i), &naming))
			continue;
		origin.is_machine |= naming.pid == KTHREADD && !strcmp(naming.name, "kthreadd");
		if (!origin.root_pid)
			origin.root_pid = naming.pid;
		if (!store->order.items[i].key)
			is_one &= origin.root_pid == naming.pid;
		if (naming.pid != origin.root_pid || naming.tid != naming.pid)
			continue;
		snprintf(origin.name, sizeof(origin.name), "%s", naming.name);
		has_exec = naming.is_exec;
	}
	if (!is_one || origin.is_machine)
		origin = (struct perf_origin){.is_machine = origin.is_machine,
					      .has_copies = origin.has_copies};
	return origin;
}
