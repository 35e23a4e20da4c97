/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/arguments.h"

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/quote.h"

/* Finds the latest exec that lacks arguments; adds a marker if the record of that exec was lost. */
static const struct marker *find_exec(struct tasks *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(&t->profile->threads, id);
	struct markers *markers = &t->profile->markers;
	struct marker exec;

	for (size_t i = row->markers.count; i-- > 0;) {
		const struct marker *marker = &row->markers.items[i];

		if (marker->schema != MARKER_EXEC)
			continue;
		if (!marker_value(markers, marker, EXEC_ARGUMENTS)->type)
			return marker;
		break;
	}
	exec = markers_make(markers, MARKER_EXEC, time, time);
	*marker_value(markers, &exec, EXEC_PROGRAM) = marker_string(row->name);
	thread_add_marker(&t->threads, id, &exec);
	return &vec_last(&row->markers);
}

/* True if the marker already shows this program name. The kernel truncates names. */
static bool is_named(const struct strings *strings, string_id name, const char *program)
{
	const char *slash = strrchr(program, '/');
	size_t size = strings_size(strings, name);

	return size && strncmp(slash ? slash + 1 : program, strings_get(strings, name), size) == 0;
}

/* Joins the arguments to one line; NO_STRING if there are none. */
static string_id arguments_line(struct strings *strings, string_id program, string_id arguments)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const char *list = strings_get(strings, arguments);
	size_t size = strings_size(strings, arguments);

	if (size && is_named(strings, program, list)) {
		size_t skipped = strlen(list) + 1;

		list += skipped;
		size -= skipped < size ? skipped : size;
	}
	quote_list(&text, list, size);
	return text.size ? strings_intern_sized(strings, text.text, text.size) : NO_STRING;
}

/* True for a title, "nginx: worker process", that a program set in place of its arguments. */
static bool is_title(const char *list, size_t size)
{
	return size && strlen(list) + 1 >= size && strstr(list, ": ");
}

/* Marks a title that replaces what was known before. */
static void mark_title(struct tasks *t, const struct process *process, string_id before,
		       uint64_t time)
{
	struct profile *p = t->profile;
	string_id now = process->arguments;
	struct marker marker;
	schema_id schema;

	if (before == NO_STRING || now == before ||
	    !is_title(strings_get(&p->strings, now), strings_size(&p->strings, now)))
		return;
	schema = schema_text_intern(marker_schema(MARKER_TITLE), &p->markers.schemas, &p->strings);
	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, time, time);
	*marker_value(&p->markers, &marker, TITLE_TEXT) =
		marker_string(strings_intern_line(&p->strings, strings_get(&p->strings, now)));
	thread_add_marker(&t->threads, process->main_thread, &marker);
}

void arguments_enter(struct tasks *t, const struct rec_arguments *rec)
{
	process_id id = tasks_process(t, &rec->rec);
	struct process *process = &t->processes.rows.items[id];
	struct markers *markers = &t->profile->markers;
	struct strings *strings = &t->profile->strings;
	string_id before = process->arguments;
	const struct marker *marker;

	if (rec->arguments_size)
		process->arguments = strings_intern_list(strings, rec->text + rec->folder_size,
							 rec->arguments_size);
	if (rec->rec.flags & ARGUMENTS_SCAN) {
		mark_title(t, process, before, tasks_time(t, rec->rec.time));
		return;
	}
	marker = find_exec(t, process->main_thread, tasks_time(t, rec->rec.time));
	if (process->arguments != NO_STRING)
		*marker_value(markers, marker, EXEC_ARGUMENTS) = marker_string(
			arguments_line(strings, marker_value(markers, marker, EXEC_PROGRAM)->string,
				       process->arguments));
	if (rec->folder_size)
		*marker_value(markers, marker, EXEC_FOLDER) =
			marker_string(strings_intern_sized(strings, rec->text, rec->folder_size));
}
