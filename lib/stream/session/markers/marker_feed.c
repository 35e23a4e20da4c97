/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/markers/marker_feed.h"

#include <ctype.h>

#include "lib/stream/record/record.h"

#define KEY_SIZE_MAX 64
#define MACHINE_ROWS_MAX 16

void marker_feed_init(struct marker_feed *f, struct profile *profile, struct tasks *tasks)
{
	*f = (struct marker_feed){.profile = profile, .tasks = tasks};
}

void marker_feed_release(struct marker_feed *f)
{
	vec_release(&f->schemas);
	index_release(&f->by_wire_id);
	vec_release(&f->machine);
	vec_release(&f->rows);
	marker_bounds_release(&f->bounds);
}

static bool wire_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct marker_feed *f = table;

	return f->schemas.items[id].wire_id == *(const uint32_t *)key;
}

static const struct wire_schema *find_schema(const struct marker_feed *f, uint32_t wire_id)
{
	uint32_t id = index_find(&f->by_wire_id, hash_u64(wire_id), wire_id_equal, f, &wire_id);

	return id == INDEX_NONE ? NULL : &f->schemas.items[id];
}

/* Consumes the next text; NO_STRING if it is empty. */
static string_id take_text(struct strings *strings, const char **text, size_t size)
{
	const char *start = *text;

	*text += size;
	return size ? strings_intern_sized(strings, start, size) : NO_STRING;
}

/* Readers find a field by its key and labels refer to it, so it must be an identifier. */
static bool is_key(const struct strings *strings, string_id id)
{
	const char *key = strings_get(strings, id);
	size_t size = strings_size(strings, id);

	if (!size || size > KEY_SIZE_MAX || isdigit((unsigned char)key[0]) ||
	    strcmp(key, "type") == 0 || strcmp(key, "cause") == 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!isalnum((unsigned char)key[i]) && key[i] != '_')
			return false;
	}
	return true;
}

static bool has_field(const struct strings *strings, const struct schema_field *fields,
		      uint32_t count, const char *key, size_t size)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strings_size(strings, fields[i].key) == size &&
		    memcmp(strings_get(strings, fields[i].key), key, size) == 0)
			return true;
	}
	return false;
}

/* Returns NO_STRING for a label that refers to a field the schema lacks. */
static string_id check_label(const struct strings *strings, string_id label,
			     const struct schema *schema, const struct schema_field *fields)
{
	static const char prefix[] = "marker.data.";
	const char *at = strings_get(strings, label);

	while ((at = strchr(at, '{'))) {
		size_t size = 0;

		at += 1 + strspn(at + 1, " ");
		if (strncmp(at, prefix, strlen(prefix)) != 0)
			continue;
		at += strlen(prefix);
		while (isalnum((unsigned char)at[size]) || at[size] == '_')
			size++;
		if (!has_field(strings, fields, schema->field_count, at, size))
			return NO_STRING;
	}
	return label;
}

static bool take_fields(struct marker_feed *f, const struct rec_schema *rec, const char *text,
			struct schema_field *fields)
{
	struct strings *strings = &f->profile->strings;

	for (uint32_t i = 0; i < rec->field_count; i++) {
		const struct rec_schema_field *field = &rec->fields[i];

		fields[i].type = field->type;
		fields[i].key = take_text(strings, &text, field->key_size);
		fields[i].label = take_text(strings, &text, field->label_size);
		if (!is_key(strings, fields[i].key) ||
		    has_field(strings, fields, i, strings_get(strings, fields[i].key),
			      strings_size(strings, fields[i].key)))
			return false;
	}
	return true;
}

static schema_id take_schema(struct marker_feed *f, const struct rec_schema *rec)
{
	struct strings *strings = &f->profile->strings;
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	const char *text = rec_schema_text(rec);
	struct schema schema = {
		.name = take_text(strings, &text, rec->name_size),
		.shown = rec->shown & (SHOWN_ANYWHERE | SHOWN_GROUP_MASK),
		.field_count = rec->field_count,
	};

	if (schema.name == NO_STRING || rec->field_count > SCHEMA_FIELDS_MAX)
		return NO_SCHEMA;
	schema.chart_label = take_text(strings, &text, rec->chart_size);
	schema.table_label = take_text(strings, &text, rec->table_size);
	schema.tooltip_label = take_text(strings, &text, rec->tooltip_size);
	if (!take_fields(f, rec, text, fields))
		return NO_SCHEMA;
	schema.chart_label = check_label(strings, schema.chart_label, &schema, fields);
	schema.table_label = check_label(strings, schema.table_label, &schema, fields);
	schema.tooltip_label = check_label(strings, schema.tooltip_label, &schema, fields);
	return schemas_intern(&f->profile->markers.schemas, &schema, fields);
}

void marker_feed_schema(struct marker_feed *f, const struct rec_schema *rec)
{
	struct wire_schema row = {.wire_id = rec->schema, .id = NO_SCHEMA};

	if (find_schema(f, rec->schema) || f->schemas.count == MARKER_SCHEMAS_MAX)
		return;
	row.id = take_schema(f, rec);
	index_add(&f->by_wire_id, hash_u64(row.wire_id), (uint32_t)f->schemas.count);
	vec_push(&f->schemas, row);
}

static void take_value(struct marker_feed *f, const struct rec_marker *rec,
		       const struct rec_value *value, struct marker_value *out)
{
	const char *text = rec_marker_text(rec);

	out->type = value->type;
	if (value->type == FIELD_STRING)
		out->string = strings_intern_sized(&f->profile->strings, text + value->value,
						   value->size);
	else if (value->type == FIELD_STACK)
		out->stack = NO_STACK;
	else
		out->number = value->value;
}

/* Stacks are taken last: their values may be known only later. */
static void take_stacks(const struct rec_marker *rec, const struct marker *marker,
			const struct schema *schema, struct marker_value *values,
			marker_stack_fn *fn, void *ctx)
{
	const struct rec_marker_stack *stacks = rec_marker_stacks(rec);

	for (uint32_t i = 0; i < rec->value_count; i++) {
		const struct rec_value *value = &rec->values[i];

		if (value->type == FIELD_STACK && value->field < schema->field_count &&
		    values[value->field].type == FIELD_STACK)
			fn(ctx, marker->first_value + value->field, &stacks[value->value]);
	}
	if (rec->rec.flags & MARKER_CAUSE) {
		values[schema->field_count] = marker_stack(NO_STACK);
		fn(ctx, marker->first_value + schema->field_count, &stacks[0]);
	}
}

static void take_values(struct marker_feed *f, const struct rec_marker *rec,
			const struct marker *marker, marker_stack_fn *fn, void *ctx)
{
	struct markers *markers = &f->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	struct marker_value *values = marker_value(markers, marker, 0);

	for (uint32_t i = 0; i < rec->value_count; i++) {
		const struct rec_value *value = &rec->values[i];

		if (value->field < schema->field_count && fields[value->field].type == value->type)
			take_value(f, rec, value, &values[value->field]);
		else
			f->profile->stats.lost_marker_values++;
	}
	take_stacks(rec, marker, schema, values, fn, ctx);
}

/*
 * Finds the thread of what a program reports, which does not introduce threads or move their ends.
 * NO_THREAD: the process is unknown, too.
 */
static thread_id find_told(const struct tasks *t, const struct rec *rec)
{
	process_id process = process_table_find(&t->processes, rec->pid);
	thread_id thread;

	if (process == NO_PROCESS)
		return NO_THREAD;
	thread = thread_table_find(&t->threads, process, rec->tid);
	return thread == NO_THREAD ? t->processes.rows.items[process].main_thread : thread;
}

static void add_marker(struct marker_feed *f, thread_id thread, const struct marker *marker)
{
	thread_add_marker(&f->tasks->threads, thread, marker);
	marker_bounds_added(&f->bounds, f->profile, thread);
}

/* Returns the row of the machine with that name; NO_THREAD: there are too many. */
static thread_id machine_row(struct marker_feed *f, string_id name)
{
	uint32_t number = 0;

	while (number < f->rows.count && f->rows.items[number] != name)
		number++;
	if (name == NO_STRING || number == MACHINE_ROWS_MAX)
		return NO_THREAD;
	if (number == f->rows.count)
		vec_push(&f->rows, name);
	return tasks_machine_row(f->tasks, number, name);
}

static void add_to_machine(struct marker_feed *f, struct marker *marker, bool has_row)
{
	thread_id row = has_row ? machine_row(f, marker->category) : NO_THREAD;

	if (row == NO_THREAD) {
		vec_push(&f->machine, *marker);
		return;
	}
	/* The row says what the category would. */
	marker->category = NO_STRING;
	add_marker(f, row, marker);
}

/* Returns the thread of a marker that is not the machine's; NO_THREAD: nobody knows it. */
static thread_id find_thread(const struct marker_feed *f, const struct rec *rec)
{
	return rec->flags & MARKER_TOLD ? find_told(f->tasks, rec)
					: tasks_sampled(f->tasks, rec, 0);
}

/* False: there are too many that are longer, so that nothing of it is needed. */
static bool is_admitted(struct marker_feed *f, thread_id thread, schema_id schema,
			const struct rec_marker *rec)
{
	const struct marker bare = {
		.start = tasks_time(f->tasks, rec->start),
		.end = tasks_time(f->tasks, rec->rec.time),
		.schema = schema,
	};

	return marker_bounds_admit(&f->bounds, thread, &bare);
}

static struct marker make_marker(struct marker_feed *f, schema_id schema,
				 const struct rec_marker *rec)
{
	struct strings *strings = &f->profile->strings;
	const char *text = rec_marker_text(rec);
	string_id name = take_text(strings, &text, rec->name_size);
	struct marker marker = markers_make(&f->profile->markers, schema,
					    tasks_time(f->tasks, rec->start),
					    tasks_time(f->tasks, rec->rec.time));

	if (name != NO_STRING)
		marker.name = name;
	marker.category = take_text(strings, &text, rec->category_size);
	if (rec->rec.flags & MARKER_CAUSE) {
		const struct rec_marker_stack *cause = rec_marker_stacks(rec);

		marker.cause_tid = cause->tid;
		marker.cause_time = tasks_time(f->tasks, cause->time);
	}
	marker.is_told = rec->rec.flags & MARKER_TOLD;
	marker.is_frame = marker.is_told && rec->rec.flags & MARKER_FRAME;
	return marker;
}

void marker_feed_marker(struct marker_feed *f, const struct rec_marker *rec, marker_stack_fn *fn,
			void *ctx)
{
	const struct wire_schema *known = find_schema(f, rec->schema);
	schema_id schema = known ? known->id : NO_SCHEMA;
	bool is_of_machine = !rec->rec.pid;
	thread_id thread = NO_THREAD;
	struct marker marker;

	if (rec->rec.flags & MARKER_TOLD && rec->rec.time < f->profile->meta.start_ns)
		return;
	if (schema != NO_SCHEMA && !is_of_machine)
		thread = find_thread(f, &rec->rec);
	if (schema == NO_SCHEMA || (!is_of_machine && thread == NO_THREAD)) {
		f->profile->stats.lost_markers++;
		return;
	}
	if (!is_of_machine && !is_admitted(f, thread, schema, rec))
		return;
	marker = make_marker(f, schema, rec);
	if (is_of_machine)
		add_to_machine(f, &marker, rec->rec.flags & MARKER_ROW);
	else
		add_marker(f, thread, &marker);
	take_values(f, rec, &marker, fn, ctx);
}

void marker_feed_limit(struct marker_feed *f)
{
	struct marker others;

	if (marker_bounds_finish(&f->bounds, f->profile, &others))
		vec_push(&f->machine, others);
}

void marker_feed_finish(struct marker_feed *f)
{
	struct threads *threads = &f->profile->threads;

	if (!threads->rows.count)
		return;
	vec_for_each(&f->machine, const struct marker *, marker)
		vec_push(&threads_get(threads, 0)->markers, *marker);
}
