/* SPDX-License-Identifier: MIT */
/* Reads what recording took, and the known fields of other recorders. */
#include "lib/format/firefox/read/internal.h"

static void read_numbers(struct json_cursor *s, const char *const *names, uint64_t *millionths,
			 size_t count, bool *has_one)
{
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(s, &list, &key)) {
		uint64_t value = import_time(s);

		for (size_t i = 0; i < count; i++) {
			if (span_is(s, key, names[i])) {
				millionths[i] = value;
				*has_one = true;
			}
		}
	}
}

static void read_process(struct import *r, struct json_cursor *s)
{
	struct profile_overhead *o = &r->profile->overhead;
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "statistics") && json_cursor_peek(s) == '{')
			read_numbers(s, overhead_fields, o->statistics, OVERHEAD_FIELD_COUNT,
				     &o->has_statistics);
		else
			json_cursor_skip(s);
	}
}

/* A profile has those of one process: other recorders write some for each. */
static void read_statistics(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.overhead);
	struct json_cursor_list list = {0};

	if (!r->layout.overhead.end || json_cursor_peek(&s) != '[')
		return;
	while (json_cursor_element(&s, &list)) {
		if (!r->profile->overhead.has_statistics && json_cursor_peek(&s) == '{')
			read_process(r, &s);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(&s);
	}
}

static void read_log(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.log);
	struct profile_overhead *o = &r->profile->overhead;
	struct json_cursor_list list = {0};
	struct span key;

	if (!r->layout.log.end || json_cursor_peek(&s) != '{')
		return;
	while (json_cursor_member(&s, &list, &key)) {
		if (!o->has_log && json_cursor_peek(&s) == '{')
			read_numbers(&s, recording_moments, o->log, MOMENT_COUNT, &o->has_log);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(&s);
	}
}

void import_overhead(struct import *r)
{
	read_statistics(r);
	read_log(r);
}
