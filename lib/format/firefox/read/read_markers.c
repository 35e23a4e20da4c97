/* SPDX-License-Identifier: MIT */
/* Reads a thread's markers. Begins and ends of intervals are paired as front-ends do. */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/index.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/internal.h"

/* Reads a table of markers. */
struct marker_reader {
	struct import *reader;
	VEC(struct marker_draft) rows;
};

enum { NAME, CATEGORY, START, END, PHASE, DATA, TIME };

static const char *const columns[] = {"name",  "category", "startTime", "endTime",
				      "phase", "data",	   "time",	NULL};

static void add_row(void *ctx)
{
	struct marker_reader *of = ctx;

	vec_push(&of->rows, (struct marker_draft){
				    .name = NO_STRING, .category = NO_STRING, .type = NO_STRING});
}

static void read_category(struct import *r, struct json_cursor *s, struct marker_draft *draft)
{
	int64_t row = import_index(s, UINT8_MAX);

	/* The default category means none. */
	if (row > 0 && (size_t)row < r->profile->categories.count)
		draft->category = strings_intern(&r->profile->strings,
						 r->profile->categories.items[row].name);
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct marker_reader *of = ctx;
	struct import *r = of->reader;
	struct marker_draft *draft = &of->rows.items[row];
	int64_t name;

	switch (column) {
	case NAME:
		name = import_index(s, r->string_count);
		draft->name = name < 0 ? NO_STRING : r->strings[name];
		break;
	case CATEGORY:
		read_category(r, s, draft);
		break;
	case START:
		draft->start = import_instant(s);
		break;
	case END:
		draft->end = import_instant(s);
		break;
	case PHASE:
		draft->phase = import_index(s, UINT8_MAX);
		break;
	case TIME:
		draft->start = draft->end = import_instant(s);
		break;
	default:
		json_cursor_value(s, &draft->data);
	}
}

/* Reads the type of the data. */
static void read_draft_type(struct import *r, struct marker_draft *draft)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, draft->data);
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(&data) != '{')
		return;
	while (json_cursor_member(&data, &list, &key)) {
		if (span_is(&data, key, "type") && json_cursor_peek(&data) == '"')
			draft->type = import_string(r, &data);
		else
			json_cursor_skip(&data);
	}
}

static schema_id find_schema(struct import *r, const struct marker_draft *draft)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, draft->data);
	schema_id schema = draft->type == NO_STRING
				   ? NO_SCHEMA
				   : schemas_find(&r->profile->markers.schemas, draft->type);
	_cleanup_free_ char *type = NULL;

	if (schema != NO_SCHEMA)
		return schema;
	type = xstrdup(draft->type == NO_STRING ? ""
						: strings_get(&r->profile->strings, draft->type));
	return import_schema_for(r, type, data);
}

/* Adds a marker with the data of its begin, if that has some, and of its end. */
static bool add_marker(struct import *r, const struct marker_draft *draft, struct span before,
		       struct profile_thread *thread)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, before);
	uint64_t start = import_moment(r, draft->start), end = import_moment(r, draft->end);
	schema_id schema = find_schema(r, draft);
	struct marker marker;
	bool is_valid;

	if (end == CLOCK_NO_TIME || (end < start && start != CLOCK_NO_TIME))
		end = start;
	if (schema == NO_SCHEMA) {
		r->counts->unread[UNREAD_MARKERS]++;
		return true;
	}
	marker = markers_make(&r->profile->markers, schema, start, end);
	marker.name = draft->name;
	marker.category = draft->category;
	if (before.end)
		import_marker_data(r, &data, &marker);
	is_valid = !data.failed;
	data = json_cursor_within(&r->layout.cursor, draft->data);
	if (draft->data.end)
		import_marker_data(r, &data, &marker);
	vec_push(&thread->markers, marker);
	return is_valid && !data.failed;
}

/* Begins of intervals whose ends are still to come. */
struct open_markers {
	VEC(struct marker_draft) rows;
	VEC(uint32_t) below; /* by row: the one of that name that began before, or INDEX_NONE */
	VEC(uint32_t) tops; /* by name: the last begun one, or INDEX_NONE */
	VEC(string_id) names;
	struct index index; /* of names */
};

static bool name_equal(const void *table, uint32_t id, const void *key)
{
	const struct open_markers *open = table;

	return open->names.items[id] == *(const string_id *)key;
}

/* Returns the number of a name among those of open markers. */
static uint32_t open_name(struct open_markers *open, string_id name)
{
	uint32_t id = index_find(&open->index, hash_u64(name), name_equal, open, &name);

	if (id != INDEX_NONE)
		return id;
	vec_push(&open->names, name);
	vec_push(&open->tops, INDEX_NONE);
	index_add(&open->index, hash_u64(name), (uint32_t)open->names.count - 1);
	return (uint32_t)open->names.count - 1;
}

static void open_marker(struct open_markers *open, const struct marker_draft *draft)
{
	uint32_t name = open_name(open, draft->name);
	uint32_t *top = &open->tops.items[name];

	vec_push(&open->below, *top);
	*top = (uint32_t)open->rows.count;
	vec_push(&open->rows, *draft);
}

/* Ends the interval of that name that began last; one that began before the recording is as old. */
static bool close_marker(struct import *r, struct open_markers *open, struct marker_draft *end,
			 struct profile_thread *thread)
{
	uint32_t name = open_name(open, end->name);
	uint32_t *top = &open->tops.items[name];
	uint64_t first = samples_first_time(&thread->samples);
	const struct marker_draft *begin = *top == INDEX_NONE ? NULL : &open->rows.items[*top];
	struct span before = {0};
	bool is_valid;
	size_t count;

	if (begin) {
		open->rows.items[*top].phase = PHASE_INSTANT;
		*top = open->below.items[*top];
		before = begin->data;
		end->start = begin->start;
		if (end->type == NO_STRING)
			end->type = begin->type;
	} else {
		end->start = end->end;
	}
	count = thread->markers.count;
	is_valid = add_marker(r, end, before, thread);
	if (!begin && thread->markers.count > count && vec_last(&thread->markers).start > first)
		vec_last(&thread->markers).start = first;
	return is_valid;
}

/* Ends what is still open with the thread. */
static bool close_rest(struct import *r, struct open_markers *open, struct profile_thread *thread)
{
	uint64_t last = samples_last_time(&thread->samples) + r->profile->meta.interval_ns;
	bool is_valid = true;

	vec_for_each(&open->rows, struct marker_draft *, draft) {
		size_t count = thread->markers.count;

		if (draft->phase != PHASE_START || !is_valid)
			continue;
		draft->end = draft->start;
		is_valid = add_marker(r, draft, (struct span){0}, thread);
		if (thread->markers.count > count && samples_count(&thread->samples) &&
		    vec_last(&thread->markers).end < last)
			vec_last(&thread->markers).end = last;
	}
	return is_valid;
}

static void open_markers_release(struct open_markers *open)
{
	vec_release(&open->rows);
	vec_release(&open->below);
	vec_release(&open->tops);
	vec_release(&open->names);
	index_release(&open->index);
}

static bool take_draft(struct import *r, struct marker_draft *draft, struct open_markers *open,
		       struct profile_thread *thread)
{
	switch (draft->phase) {
	case PHASE_INSTANT:
		draft->end = draft->start;
		return add_marker(r, draft, (struct span){0}, thread);
	case PHASE_INTERVAL:
		return add_marker(r, draft, (struct span){0}, thread);
	case PHASE_START:
		open_marker(open, draft);
		return true;
	case PHASE_END:
		return close_marker(r, open, draft, thread);
	default:
		r->counts->unread[UNREAD_MARKERS]++;
		return true;
	}
}

static uint64_t last_time(const struct marker_draft *draft)
{
	return draft->end && draft->end != CLOCK_NO_TIME ? draft->end : draft->start;
}

/* By the end of each, as the front-end sorts the unsorted ones of Gecko. */
static int compare_drafts(const void *a, const void *b)
{
	const struct marker_draft *left = a, *right = b;
	uint64_t first = last_time(left), second = last_time(right);

	if (first != second)
		return first < second ? -1 : 1;
	return left->data.start < right->data.start ? -1 : left->data.start > right->data.start;
}

static bool take_drafts(struct import *r, struct marker_reader *of, bool has_phases,
			struct profile_thread *thread)
{
	struct open_markers open = {0};
	bool is_valid = true;

	vec_for_each(&of->rows, struct marker_draft *, draft) {
		if (!has_phases)
			draft->phase = -1;
		read_draft_type(r, draft);
		import_upgrade_marker(r, draft);
	}
	if (r->is_gecko)
		vec_sort(&of->rows, compare_drafts);
	vec_for_each(&of->rows, struct marker_draft *, draft)
		is_valid = is_valid && take_draft(r, draft, &open, thread);
	is_valid = is_valid && close_rest(r, &open, thread);
	open_markers_release(&open);
	return is_valid;
}

int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, table);
	struct marker_reader of = {.reader = r};
	const struct grid_reader reader = {columns, add_row, read_value, NULL, &of};
	struct grid grid;
	bool is_valid;

	if (!table.end || json_cursor_peek(&s) != '{')
		return 0;
	grid_read(&grid, &s, &reader);
	/* Front-ends take no more than the length says. */
	if (r->read_own_tables && grid.length < of.rows.count)
		of.rows.count = grid.length;
	is_valid = !s.failed && take_drafts(r, &of, grid.columns & 1u << PHASE, thread);
	vec_release(&of.rows);
	if (!is_valid)
		return error_text(err, -EBADMSG, "a marker points nowhere");
	return 0;
}
