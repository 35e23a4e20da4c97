/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/lib_ids.h"

#include "lib/base/alloc.h"
#include "lib/base/json/cursor.h"

void lib_ids_release(struct lib_ids *ids)
{
	vec_for_each(&ids->rows, struct lib_id *, row) {
		free(row->debug_name);
		free(row->breakpad_id);
	}
	vec_release(&ids->rows);
}

static void read_lib(struct lib_ids *ids, struct json_cursor *s)
{
	struct json_cursor_list list = {0};
	struct lib_id row = {0};
	struct span key;

	if (json_cursor_peek(s) != '{')
		json_cursor_skip(s);
	else
		while (json_cursor_member(s, &list, &key)) {
			if (span_is(s, key, "debugName") && !row.debug_name)
				row.debug_name = json_cursor_text(s);
			else if (span_is(s, key, "breakpadId") && !row.breakpad_id)
				row.breakpad_id = json_cursor_text(s);
			else
				json_cursor_skip(s);
		}
	if (!row.debug_name)
		row.debug_name = xstrdup("");
	if (!row.breakpad_id)
		row.breakpad_id = xstrdup("");
	vec_push(&ids->rows, row);
}

/* Takes the first of "initialSelectedThreads". */
static void read_meta(struct lib_ids *ids, struct json_cursor *s)
{
	struct json_cursor_list members = {0};
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &members, &key)) {
		struct json_cursor_list threads = {0};
		int64_t number;

		if (!span_is(s, key, "initialSelectedThreads") || json_cursor_peek(s) != '[') {
			json_cursor_skip(s);
			continue;
		}
		for (bool is_first = true; json_cursor_element(s, &threads); is_first = false) {
			if (is_first && json_cursor_peek(s) != '[' && json_cursor_i64(s, &number))
				ids->first_thread = number > 0 ? (uint64_t)number : 0;
			else
				json_cursor_skip(s);
		}
	}
}

void lib_ids_read(struct lib_ids *ids, const char *text, size_t size)
{
	struct json_cursor_list members = {0}, libs = {0};
	struct json_cursor s;
	struct span key;

	json_cursor_init(&s, text, size);
	while (json_cursor_member(&s, &members, &key)) {
		if (span_is(&s, key, "meta")) {
			read_meta(ids, &s);
			continue;
		}
		if (!span_is(&s, key, "libs") || json_cursor_peek(&s) != '[') {
			json_cursor_skip(&s);
			continue;
		}
		while (json_cursor_element(&s, &libs))
			read_lib(ids, &s);
		return;
	}
}
