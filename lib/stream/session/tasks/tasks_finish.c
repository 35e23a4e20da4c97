/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/container.h"
#include "lib/stream/session/tasks/tasks.h"

/* Stores the whole path; the process's name has only the end of it. */
static void set_container(struct tasks *t, const struct process *process)
{
	if (process->cgroup != NO_STRING)
		tasks_add_marker(t, process->main_thread, MARKER_CGROUP, process->start,
				 process->cgroup);
	if (process->resource != NO_STRING)
		tasks_add_marker(t, process->main_thread, MARKER_RESOURCE, process->start,
				 process->resource);
}

void tasks_name_rows(struct tasks *t)
{
	string_id unknown = NO_STRING;

	vec_for_each(&t->profile->threads.rows, struct profile_thread *, row) {
		thread_id id = (thread_id)(row - t->profile->threads.rows.items);
		const struct process *process = tasks_process_of(t, id);

		row->process_name = process->name;
		row->process_label = container_label(&t->profile->strings, process->cgroup,
						     process->container, process->ns_pid);
		row->arguments = process->arguments;
		row->process_start = process->start;
		row->process_end = process->has_ended ? process->end : 0;
		if (row->process_name == NO_STRING) {
			if (unknown == NO_STRING)
				unknown = strings_intern(&t->profile->strings, "[unknown]");
			row->process_name = unknown;
		}
		if (row->name == NO_STRING)
			row->name = row->process_name;
		if (!t->threads.rows.items[id].has_ended)
			row->end = 0;
	}
}

void tasks_finish(struct tasks *t)
{
	vec_for_each(&t->processes.rows, struct process *, process)
		set_container(t, process);
	tasks_name_rows(t);
}

void tasks_drop_unwanted(struct tasks *t)
{
	struct threads *threads = &t->profile->threads;
	size_t kept = 0;

	for (size_t i = 0; i < threads->rows.count; i++) {
		struct profile_thread *row = &threads->rows.items[i];
		const struct process *process = tasks_process_of(t, (thread_id)i);

		if (process_is_wanted(process)) {
			threads->rows.items[kept++] = *row;
			continue;
		}
		samples_release(&row->samples);
		vec_release(&row->markers);
		vec_release(&row->allocations.rows);
	}
	threads->rows.count = kept;
}
