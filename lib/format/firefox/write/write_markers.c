/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"
#include "lib/model/meaning/recording_markers.h"

enum { PHASE_INSTANT, PHASE_INTERVAL };

/*
 * Most frames written for a stack in a field. The front-end shows the whole stack of a cause only.
 */
#define STACK_TEXT_DEPTH 16
/* The front-end's limit is 256 categories in all. */
#define OWN_CATEGORIES_MAX 200

/* Returns the category of frames with that name, or CATEGORY_COUNT. */
static size_t find_category(const struct firefox *f, string_id name)
{
	const char *text = string_overlay_get(&f->texts, name);
	size_t i = 0;

	while (i < CATEGORY_COUNT && strcmp(categories[i]->name, text) != 0)
		i++;
	return i;
}

/* Returns the marker's own category, else its group; NO_STRING: neither. */
static string_id category_of(struct firefox *f, const struct marker *marker)
{
	const struct schemas *schemas = &f->profile->markers.schemas;
	const char *group;

	if (marker->category != NO_STRING)
		return marker->category;
	group = schema_group(schemas_get(schemas, marker->schema)->shown);
	return group ? string_overlay_intern(&f->texts, group) : NO_STRING;
}

static void use_category(struct firefox *f, string_id name)
{
	size_t common;

	if (name == NO_STRING)
		return;
	vec_for_each(&f->marker_categories, const struct firefox_category *, row) {
		if (row->name == name)
			return;
	}
	common = find_category(f, name);
	if (common < CATEGORY_COUNT)
		f->has_category[common] = true;
	else if (f->marker_categories.count < OWN_CATEGORIES_MAX)
		vec_push(&f->marker_categories, (struct firefox_category){.name = name});
}

void firefox_use_marker_categories(struct firefox *f)
{
	vec_for_each(&f->profile->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker)
			use_category(f, category_of(f, marker));
	}
}

static uint32_t own_position(const struct firefox *f, string_id name)
{
	const char *text = string_overlay_get(&f->texts, name);
	uint32_t position = 0;

	vec_for_each(&f->profile->categories, const struct profile_category *, category) {
		if (strcmp(category->name, text) == 0)
			return position;
		position++;
	}
	return CATEGORY_OTHER;
}

static uint32_t category_position(struct firefox *f, const struct marker *marker)
{
	string_id name = category_of(f, marker);
	size_t common;

	if (f->profile->categories.count)
		return own_position(f, name);
	if (name == NO_STRING)
		return f->category_positions[CATEGORY_OTHER];
	vec_for_each(&f->marker_categories, const struct firefox_category *, row) {
		if (row->name == name)
			return row->position;
	}
	common = find_category(f, name);
	return f->category_positions[common < CATEGORY_COUNT ? common : CATEGORY_OTHER];
}

/* Formats a stack as "read ← copy ← main": front-ends cannot show a stack in a field. */
static uint32_t stack_text(struct firefox *f, stack_id id)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const struct profile *p = f->profile;

	for (unsigned int depth = 0; id != NO_STACK; depth++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		if (depth == STACK_TEXT_DEPTH) {
			strbuf_adds(&text, " ← …");
			break;
		}
		strbuf_adds(&text, depth ? " ← " : "");
		if (frame->func != NO_FUNC)
			strbuf_adds(&text,
				    string_overlay_get(&f->texts,
						       p->funcs.rows.items[frame->func].name));
		id = stack->parent;
	}
	return firefox_string(f, string_overlay_intern(&f->texts, strbuf_text(&text)));
}

void firefox_write_number(struct jsonw *w, const struct marker_value *value, uint64_t start)
{
	char pid[24];

	switch (value->type) {
	case FIELD_INTEGER:
	case FIELD_THREAD_ID:
		jsonw_i64(w, (int64_t)value->number);
		break;
	case FIELD_PROCESS_ID:
		/* Processes are looked up by the pid's spelling. */
		snprintf(pid, sizeof(pid), "%" PRIu64, value->number);
		jsonw_cstring(w, pid);
		break;
	case FIELD_TIME:
		jsonw_ms(w, value->number > start ? value->number - start : 0);
		break;
	case FIELD_DURATION:
	case FIELD_PERCENTAGE:
		/* Millionths become fractions by the division that turns ns into ms. */
		jsonw_ms(w, value->number);
		break;
	default:
		jsonw_u64(w, value->number);
		break;
	}
}

static void write_value(struct firefox *f, struct jsonw *w, const struct marker_value *value)
{
	if (value->type == FIELD_STRING)
		jsonw_u64(w, firefox_string(f, value->string));
	else if (value->type == FIELD_STACK)
		jsonw_u64(w, stack_text(f, value->stack));
	else
		firefox_write_number(w, value, f->profile->meta.start_ns);
}

static bool has_value(const struct marker_value *value)
{
	return value->type != FIELD_NONE && !(value->type == FIELD_PROCESS_ID && !value->number) &&
	       !(value->type == FIELD_STRING && value->string == NO_STRING) &&
	       !(value->type == FIELD_STACK && value->stack == NO_STACK);
}

static void write_cause(struct firefox *f, struct jsonw *w, const struct marker *marker)
{
	stack_id stack = marker_cause(&f->profile->markers, marker);

	if (stack == NO_STACK)
		return;
	jsonw_member(w, "cause", object_begin);
	if (marker->cause_tid)
		jsonw_member(w, "tid", u64, marker->cause_tid);
	if (marker->cause_time)
		jsonw_member(w, "time", ms, firefox_time(f, marker->cause_time));
	jsonw_member(w, "stack", u64, stack);
	jsonw_object_end(w);
}

/* True for the stack of the cause, which the front-end already shows. */
static bool is_cause(const struct firefox *f, const struct marker *marker,
		     const struct marker_value *value)
{
	return value->type == FIELD_STACK &&
	       value->stack == marker_cause(&f->profile->markers, marker);
}

bool firefox_schema_is_network(const struct firefox *f, const struct schema *schema)
{
	return strcmp(string_overlay_get(&f->texts, schema->name), "Network") == 0;
}

static void write_data(struct firefox *f, struct jsonw *w, const struct marker *marker)
{
	const struct markers *markers = &f->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);

	jsonw_object_begin(w);
	jsonw_member(w, "type", string, string_overlay_get(&f->texts, schema->name),
		     string_overlay_size(&f->texts, schema->name));
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(markers, marker, i);

		if (!has_value(value) || is_cause(f, marker, value))
			continue;
		jsonw_key(w, string_overlay_get(&f->texts, fields[i].key));
		if (value->type == FIELD_STRING && firefox_schema_is_network(f, schema))
			jsonw_string(w, string_overlay_get(&f->texts, value->string),
				     string_overlay_size(&f->texts, value->string));
		else
			write_value(f, w, value);
	}
	write_cause(f, w, marker);
	jsonw_object_end(w);
}

static bool is_interval(const struct marker *marker)
{
	return marker->end > marker->start;
}

static void write_times(const struct firefox *f, struct jsonw *w, const struct marker_list *list)
{
	FIREFOX_COLUMN(w, "startTime", list, struct marker, marker, at,
		       jsonw_format_ms(at, firefox_time(f, marker->start)));
	FIREFOX_COLUMN(w, "endTime", list, struct marker, marker, at,
		       is_interval(marker) ? jsonw_format_ms(at, firefox_time(f, marker->end))
					   : jsonw_format_null(at));
	FIREFOX_COLUMN(w, "phase", list, struct marker, marker, at,
		       jsonw_format_u64(at, is_interval(marker) ? PHASE_INTERVAL : PHASE_INSTANT));
}

ORDER(compare_markers, struct marker, COMPARE(a->start, b->start) ?: COMPARE(b->end, a->end))

/* Lists the parts of the critical path and its hand-overs. */
static void list_path(const struct firefox *f, struct marker_list *list)
{
	vec_for_each(&f->profile->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (recorded_is(f->profile, marker, MARKER_CRITICAL_PATH) ||
			    recorded_is(f->profile, marker, MARKER_HAND_OVER))
				vec_push(&list->own, *marker);
		}
	}
	vec_sort(&list->own, compare_markers);
}

/* Lists the markers of a row's threads; views have none, except that of the critical path. */
static void list_markers(const struct firefox *f, const struct thread_row *row,
			 struct marker_list *list)
{
	const struct profile_thread *threads = f->profile->threads.rows.items;

	vec_clear(&list->own);
	if (row->kind < ROW_EVENT && row->count == 1) {
		list->items = threads[f->rows.members.items[row->first]].markers.items;
		list->count = threads[f->rows.members.items[row->first]].markers.count;
		return;
	}
	if (row->kind == ROW_EVENT && event_is_derived(f->profile, row->event))
		list_path(f, list);
	for (size_t i = 0; i < row->count && row->kind < ROW_EVENT; i++) {
		thread_id id = f->rows.members.items[row->first + i];

		vec_for_each(&threads[id].markers, const struct marker *, marker)
			vec_push(&list->own, *marker);
	}
	list->items = list->own.items;
	list->count = list->own.count;
}

void firefox_write_markers(struct firefox *f, struct jsonw *w, const struct thread_row *row,
			   struct marker_list *list)
{
	list_markers(f, row, list);
	jsonw_member(w, "markers", object_begin);
	FIREFOX_COLUMN(w, "name", list, struct marker, marker, at,
		       jsonw_format_u64(at, firefox_string(f, marker->name)));
	FIREFOX_COLUMN(w, "category", list, struct marker, marker, at,
		       jsonw_format_u64(at, category_position(f, marker)));
	jsonw_member(w, "data", array_begin);
	vec_for_each(list, const struct marker *, marker)
		write_data(f, w, marker);
	jsonw_array_end(w);
	write_times(f, w, list);
	jsonw_member(w, "length", u64, list->count);
	jsonw_object_end(w);
}
