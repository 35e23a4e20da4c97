/* SPDX-License-Identifier: MIT */
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
