/* SPDX-License-Identifier: MIT */
#include "lib/session/arguments.h"

/* The exec that has none yet; where the record of that was lost, a marker of their own. */
static struct marker *find_exec(struct tasks *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(&t->profile->threads, id);
	struct marker exec = {
		.start = time,
		.end = time,
		.name = row->name,
		.arguments = NO_STRING,
		.folder = NO_STRING,
		.kind = MARKER_EXEC,
	};

	for (size_t i = row->markers.count; i-- > 0;) {
		struct marker *marker = &row->markers.items[i];

		if (marker->kind != MARKER_EXEC)
			continue;
		if (marker->arguments == NO_STRING)
			return marker;
		break;
	}
	thread_add_marker(&t->threads, id, &exec);
	return &vec_last(&row->markers);
}

void arguments_enter(struct tasks *t, const struct rec_arguments *rec)
{
	struct process *process = &t->processes.rows.items[tasks_process(t, &rec->rec)];
	struct strings *strings = &t->profile->strings;
	struct marker *marker;

	if (rec->arguments_size)
		process->arguments = strings_intern_list(strings, rec->text + rec->folder_size,
							 rec->arguments_size);
	if (rec->rec.flags & ARGUMENTS_SCAN)
		return;
	marker = find_exec(t, process->main_thread, tasks_time(t, rec->rec.time));
	marker->arguments = process->arguments;
	if (rec->folder_size)
		marker->folder = strings_intern_sized(strings, rec->text, rec->folder_size);
}
