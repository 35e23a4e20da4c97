/* SPDX-License-Identifier: MIT */
#include "lib/format/trace/trace_reader.h"

/* Maximum markers kept, the longest ones; the others are counted. */
#define MARKERS_MAX (1u << 17)
/* Maximum events begun and not ended. */
#define OPENS_MAX (1u << 18)
/* Maximum older ones with the same key to examine. */
#define OPENS_SEEN 64
/* Maximum bytes of arguments to read again. */
#define ARGS_MAX 8192
#define SCHEMAS_MAX 256
#define SCHEMA_PLAIN "Trace event"

/* Keeps the longest markers. */

static uint64_t length_of(const struct trace_marker *marker)
{
	return marker->end == CLOCK_NO_TIME ? CLOCK_NO_TIME : marker->end - marker->start;
}

ORDER(compare_lengths, struct trace_marker, COMPARE(length_of(b), length_of(a)))

static void drop_short(struct trace_reader *r)
{
	vec_sort(&r->markers, compare_lengths);
	r->f.counts->unread[UNREAD_MARKERS] += r->markers.count - MARKERS_MAX;
	r->markers.count = MARKERS_MAX;
	r->shortest = length_of(&vec_last(&r->markers));
}

void trace_marker_add(struct trace_reader *r, const struct trace_marker *marker)
{
	if (r->shortest && length_of(marker) <= r->shortest) {
		r->f.counts->unread[UNREAD_MARKERS]++;
		return;
	}
	vec_push(&r->markers, *marker);
	trace_thread_use(r, marker->thread);
	if (r->markers.count == 2 * MARKERS_MAX)
		drop_short(r);
}

/* Pairs. */

INDEX_HAS(open_equal, struct trace_opens, rows, key)

static uint32_t find_open(const struct trace_opens *o, uint64_t key)
{
	return index_find(&o->index, key, open_equal, o, &key);
}

/* Adds a row in front of those with the same key. */
static void push_open(struct trace_reader *r, struct trace_opens *o, struct trace_open open)
{
	uint32_t at = o->unused - 1, newest = find_open(o, open.key);

	if (!o->unused && o->rows.count == OPENS_MAX) {
		r->f.counts->unread[UNREAD_MARKERS]++;
		return;
	}
	if (o->unused) {
		o->unused = o->rows.items[at].next;
	} else {
		at = (uint32_t)o->rows.count;
		vec_add_zeroed(&o->rows, 1);
	}
	/* The newest row keeps its index, which is stored in the hash index. */
	if (newest != INDEX_NONE) {
		o->rows.items[at] = o->rows.items[newest];
		open.next = at;
		o->rows.items[newest] = open;
		return;
	}
	open.next = INDEX_NONE;
	o->rows.items[at] = open;
	index_add(&o->index, open.key, at);
}

/* Removes the row after `before`, or the newest one if that is INDEX_NONE. */
static struct trace_open take_open(struct trace_opens *o, uint32_t newest, uint32_t before)
{
	uint32_t at = before == INDEX_NONE ? newest : o->rows.items[before].next;
	struct trace_open open = o->rows.items[at];

	if (before != INDEX_NONE) {
		o->rows.items[before].next = open.next;
	} else if (open.next == INDEX_NONE) {
		index_remove(&o->index, open.key, newest);
	} else {
		at = open.next;
		o->rows.items[newest] = o->rows.items[at];
	}
	o->rows.items[at].marker.kind = KIND_INSTANT;
	o->rows.items[at].next = o->unused;
	o->unused = at + 1;
	return open;
}

static struct trace_marker marker_of(struct trace_reader *r, const struct trace_event *e,
				     enum trace_kind kind)
{
	struct trace_marker marker = {
		.start = e->time,
		.end = e->time,
		.args = e->spans[TRACE_ARGS].end ? e->offset + e->spans[TRACE_ARGS].start : 0,
		.stack = NO_STACK,
		.from = INDEX_NONE,
		.kind = kind,
	};

	marker.label = trace_label(r, e);
	marker.thread = e->thread;
	marker.stack = trace_stack_of(r, e);
	return marker;
}

static uint64_t hash_span(const struct trace_event *e, struct span span, uint64_t seed)
{
	/* A number equals its text. */
	if (span.end && e->s.text[span.start] == '"') {
		span.start++;
		span.end--;
	}
	return hash_bytes(e->s.text + span.start, span.end - span.start, seed);
}

/* Ids are unique within their category and scope; local ones, within their process. */
static uint64_t async_key(struct trace_reader *r, const struct trace_event *e)
{
	static const char *const names[] = {"local", "global", NULL};
	struct span spans[2] = {{0}}, id = e->spans[TRACE_ID];
	uint64_t process = INDEX_NONE;

	if (e->spans[TRACE_ID2].end) {
		json_cursor_find(json_cursor_within(&e->s, e->spans[TRACE_ID2]), names, spans);
		id = spans[0].end ? spans[0] : spans[1];
		if (spans[0].end)
			process = r->threads.items[e->thread].process;
	}
	return hash_span(e, e->spans[TRACE_SCOPE],
			 hash_span(e, e->spans[TRACE_CATEGORY], hash_span(e, id, process)));
}

static unsigned int likeness(const struct trace_reader *r, const struct trace_open *open,
			     const struct trace_marker *end)
{
	return (r->threads.items[open->marker.thread].process ==
		r->threads.items[end->thread].process) *
		       2u +
	       (r->labels.items[open->marker.label].name == r->labels.items[end->label].name);
}

/*
 * Ends the newest event of the same name, in the same process if there is one: writers reuse ids,
 * also across processes.
 */
static void end_async(struct trace_reader *r, uint64_t key, const struct trace_marker *end)
{
	struct trace_opens *o = &r->asyncs;
	uint32_t newest = find_open(o, key), before = INDEX_NONE, best = INDEX_NONE, seen = 0;
	unsigned int most = 0;
	struct trace_marker marker;

	if (newest == INDEX_NONE) {
		r->f.counts->unread[UNREAD_MARKERS]++;
		return;
	}
	for (uint32_t at = newest; at != INDEX_NONE && seen++ < OPENS_SEEN;
	     before = at, at = o->rows.items[at].next) {
		unsigned int like = 1 + likeness(r, &o->rows.items[at], end);

		if (like > most) {
			most = like;
			best = before;
		}
	}
	marker = take_open(o, newest, best).marker;
	marker.end = end->end > marker.start ? end->end : marker.start;
	trace_marker_add(r, &marker);
}

void trace_add_async(struct trace_reader *r, const struct trace_event *e)
{
	struct trace_open open = {.marker = marker_of(r, e, KIND_ASYNC)};

	open.key = async_key(r, e);
	if (strchr("bS", e->phase)) {
		open.marker.end = CLOCK_NO_TIME;
		push_open(r, &r->asyncs, open);
	} else if (strchr("eF", e->phase)) {
		end_async(r, open.key, &open.marker);
	} else {
		trace_marker_add(r, &open.marker);
	}
}

static void add_flow(struct trace_reader *r, const struct trace_marker *from,
		     const struct trace_marker *to)
{
	struct trace_marker marker = *to;

	marker.start = from->start;
	marker.from = from->thread;
	trace_thread_use(r, from->thread);
	trace_marker_add(r, &marker);
}

/* An id stands for one flow at a time. Its end may precede its start. */
void trace_add_flow(struct trace_reader *r, const struct trace_event *e)
{
	struct trace_open open = {.marker = marker_of(r, e, KIND_FLOW)}, known;
	uint32_t at;

	open.key = hash_span(e, e->spans[TRACE_NAME], async_key(r, e));
	open.is_end = e->phase != 's';
	at = find_open(&r->flows, open.key);
	if (at == INDEX_NONE) {
		push_open(r, &r->flows, open);
		return;
	}
	known = r->flows.rows.items[at];
	if (!known.is_end && open.is_end && known.marker.start <= open.marker.start) {
		add_flow(r, &known.marker, &open.marker);
		open.is_end = false;
		if (e->phase == 'f') {
			take_open(&r->flows, at, INDEX_NONE);
			return;
		}
	} else if (known.is_end && !open.is_end && open.marker.start <= known.marker.start) {
		add_flow(r, &open.marker, &known.marker);
		take_open(&r->flows, at, INDEX_NONE);
		return;
	}
	open.next = known.next;
	r->flows.rows.items[at] = open;
}

/* Arguments. */

struct argument {
	struct span key, value;
	uint8_t type;
	int64_t number;
};

struct arguments {
	char text[ARGS_MAX];
	struct json_cursor s;
	struct argument rows[SCHEMA_FIELDS_MAX - 1];
	uint32_t count;
};

static void read_argument(struct arguments *a, struct span key)
{
	struct argument *row = &a->rows[a->count];
	struct json_cursor number;

	*row = (struct argument){.key = key, .type = FIELD_STRING};
	if (!json_cursor_value(&a->s, &row->value))
		return;
	number = json_cursor_within(&a->s, row->value);
	if (a->text[row->value.start] != '"' && json_cursor_i64(&number, &row->number))
		row->type = FIELD_INTEGER;
	a->count++;
}

/* Reads the arguments that fit. */
static void read_arguments(const struct trace_reader *r, const struct trace_marker *marker,
			   struct arguments *a)
{
	size_t size = marker->args
			      ? trace_input_copy(&r->in, marker->args, a->text, sizeof(a->text))
			      : 0;

	a->count = 0;
	json_cursor_init(&a->s, a->text, size);
	json_for_each_member_if_any(&a->s, key) {
		if (a->count == SCHEMA_FIELDS_MAX - 1)
			break;
		read_argument(a, key);
	}
}

/* Front-ends give special meanings to some keys. */
static string_id field_key(struct trace_reader *r, const struct schema_field *fields,
			   uint32_t count, const char *label)
{
	static const char *const taken[] = {"type", "cause", "category", "name", "stack", NULL};
	_cleanup_(strbuf_release) struct strbuf key = {0};
	bool is_taken = !*label;

	for (const char *at = label; *at; at++) {
		bool fits = decimal_is_digit(*at) || ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z');

		strbuf_addch(&key, fits ? *at : '_');
	}
	for (size_t i = 0; taken[i]; i++)
		is_taken |= strcmp(label, taken[i]) == 0;
	for (;;) {
		string_id id;

		if (is_taken)
			strbuf_addch(&key, '_');
		id = strings_intern(&r->f.profile->strings, key.text);
		is_taken = false;
		for (uint32_t i = 0; i < count; i++)
			is_taken |= fields[i].key == id;
		if (!is_taken)
			return id;
	}
}

static struct schema_field make_field(struct trace_reader *r, const struct schema_field *fields,
				      uint32_t count, const char *label, uint8_t type)
{
	struct schema_field field = {
		.key = field_key(r, fields, count, label),
		.label = strings_intern(&r->f.profile->strings, label),
		.type = type,
	};

	return field;
}

/* The first field is the category, the last one of a flow its origin. */
static schema_id make_schema(struct trace_reader *r, const struct arguments *a, bool is_flow)
{
	struct strings *strings = &r->f.profile->strings;
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct schema schema = {
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
	};

	strbuf_adds(&text, is_flow ? "Flow" : SCHEMA_PLAIN);
	if (!is_flow && a->count)
		strbuf_addf(&text, " %zu", r->schemas.count);
	schema.name = strings_intern(strings, text.text);
	fields[schema.field_count++] = (struct schema_field){
		.key = strings_intern(strings, "category"),
		.label = strings_intern(strings, "Category"),
		.type = FIELD_STRING,
	};
	for (uint32_t i = 0; i < a->count; i++) {
		const struct argument *row = &a->rows[i];

		trace_text(&a->s, (struct span){row->key.start - 1, row->key.end + 1}, &text);
		fields[schema.field_count] = make_field(r, fields, schema.field_count, text.text,
							row->type);
		schema.field_count++;
	}
	if (is_flow) {
		fields[schema.field_count] = make_field(r, fields, schema.field_count, "from",
							FIELD_STRING);
		schema.field_count++;
	}
	return schemas_intern(&r->f.profile->markers.schemas, &schema, fields);
}

static void add_schema_key(const struct arguments *a, bool is_flow, struct strbuf *key)
{
	strbuf_addch(key, is_flow ? 'f' : 'e');
	for (uint32_t i = 0; i < a->count; i++) {
		const struct argument *row = &a->rows[i];

		strbuf_add(key, a->s.text + row->key.start, row->key.end - row->key.start);
		strbuf_adds(key, row->type == FIELD_INTEGER ? "\"i" : "\"s");
	}
}

/* Events whose arguments have equal names and types share a schema. */
static schema_id schema_of(struct trace_reader *r, struct arguments *a, bool is_flow)
{
	_cleanup_(strbuf_release) struct strbuf key = {0};
	string_id id;

	for (bool is_plain = is_flow;; is_plain = true) {
		a->count = is_plain ? 0 : a->count;
		strbuf_reset(&key);
		add_schema_key(a, is_flow, &key);
		id = strings_find(&r->schema_keys, key.text, key.size);
		if (id != NO_STRING || is_plain || r->schemas.count < SCHEMAS_MAX)
			break;
	}
	id = strings_intern_sized(&r->schema_keys, key.text, key.size);
	if (id == r->schemas.count)
		vec_push(&r->schemas, make_schema(r, a, is_flow));
	return r->schemas.items[id];
}

static void set_values(struct trace_reader *r, const struct trace_marker *from,
		       const struct arguments *a, const struct marker *marker)
{
	struct profile *p = r->f.profile;
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const struct trace_label *label = &r->labels.items[from->label];
	uint32_t field = 0;

	if (*strings_get(&p->strings, label->category))
		*marker_value(&p->markers, marker, field) = marker_string(label->category);
	for (uint32_t i = 0; i < a->count; i++) {
		const struct argument *row = &a->rows[i];
		struct marker_value value = marker_integer(row->number);

		if (row->type == FIELD_STRING) {
			trace_text(&a->s, row->value, &text);
			value = marker_string(strings_intern(&p->strings, text.text));
		}
		*marker_value(&p->markers, marker, ++field) = value;
	}
	if (from->kind == KIND_FLOW) {
		const struct profile_thread *thread = threads_get(&p->threads,
								  trace_thread_use(r, from->from));

		strbuf_reset(&text);
		strbuf_addf(&text, "%s %u", strings_get(&p->strings, thread->name), thread->tid);
		*marker_value(&p->markers, marker,
			      ++field) = marker_string(strings_intern(&p->strings, text.text));
	}
	if (from->stack != NO_STACK)
		*marker_value(&p->markers, marker, ++field) = marker_stack(from->stack);
}

static void make_marker(struct trace_reader *r, const struct trace_marker *from,
			struct arguments *a)
{
	struct profile *p = r->f.profile;
	struct marker marker;
	schema_id schema;

	read_arguments(r, from, a);
	schema = schema_of(r, a, from->kind == KIND_FLOW);
	if (schema == NO_SCHEMA) {
		r->f.counts->unread[UNREAD_MARKERS]++;
		return;
	}
	marker = markers_make(&p->markers, schema, from->start,
			      from->end == CLOCK_NO_TIME ? r->end : from->end);
	marker.name = r->labels.items[from->label].name;
	set_values(r, from, a, &marker);
	vec_push(&threads_get(&p->threads, trace_thread_use(r, from->thread))->markers, marker);
}

ORDER(compare_places, struct trace_marker, COMPARE(a->args, b->args) ?: COMPARE(a->start, b->start))

void trace_markers_finish(struct trace_reader *r)
{
	struct arguments *a = xmalloc(sizeof(*a));

	/* Events without an end last until the end of the trace. */
	for (size_t i = 0; i < r->asyncs.rows.count; i++) {
		if (r->asyncs.rows.items[i].marker.kind == KIND_ASYNC)
			trace_marker_add(r, &r->asyncs.rows.items[i].marker);
	}
	for (size_t i = 0; i < r->flows.rows.count; i++)
		r->f.counts->unread[UNREAD_MARKERS] += r->flows.rows.items[i].marker.kind ==
						       KIND_FLOW;
	if (r->markers.count > MARKERS_MAX)
		drop_short(r);
	vec_sort(&r->markers, compare_places);
	vec_for_each(&r->markers, const struct trace_marker *, marker)
		make_marker(r, marker, a);
	free(a);
}
