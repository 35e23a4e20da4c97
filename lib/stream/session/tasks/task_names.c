/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/task_names.h"

#include <string.h>

#include "lib/stream/process/process_name.h"

static struct process *process_at(struct tasks *t, process_id id)
{
	return &t->processes.rows.items[id];
}

string_id task_name_intern(struct tasks *t, const char *name)
{
	size_t size = strnlen(name, REC_NAME_SIZE);

	return size ? strings_intern_sized(&t->profile->strings, name, size) : NO_STRING;
}

void task_name_set_process(struct tasks *t, process_id process, string_id name)
{
	if (name != NO_STRING)
		process_at(t, process)->name = name;
}

void task_name_set(struct tasks *t, process_id process, thread_id thread, string_id name)
{
	if (name == NO_STRING)
		return;
	threads_get(&t->profile->threads, thread)->name = name;
	/* A process is called like its main thread, as in ps. */
	if (thread == process_at(t, process)->main_thread)
		task_name_set_process(t, process, name);
}

void task_name_change(struct tasks *t, process_id id, thread_id thread, string_id name)
{
	const struct strings *strings = &t->profile->strings;
	const struct process *process = process_at(t, id);
	/*
	 * Without an exec, as for kernel threads, only the name distinguishes it from its parent.
	 */
	string_id before = process->is_forked ? NO_STRING : process->name;

	if (thread != process->main_thread)
		thread_leave_name(&t->threads, thread);
	task_name_set(t, id, thread, name);
	if (before != NO_STRING &&
	    !process_name_fits(strings_get(strings, name), strings_get(strings, before), "", 0))
		task_name_set_process(t, id, before);
}

/* A thread inherits the name of the thread that forks it, a process its parent's. */
void task_name_fork(struct tasks *t, process_id id, string_id name)
{
	const struct process *process = process_at(t, id);

	task_name_set(t, id, process->main_thread, name);
	if (process->parent_thread != NO_THREAD &&
	    threads_get(&t->profile->threads, process->parent_thread)->name == name)
		task_name_set_process(t, id, process_at(t, process->parent)->name);
}
