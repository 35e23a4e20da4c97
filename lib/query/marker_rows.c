/* SPDX-License-Identifier: MIT */
#include "lib/query/marker_rows.h"

static void collect(struct marker_rows *rows, const struct profile *p,
		    const struct query_filter *filter)
{
	_cleanup_free_ bool *is_selected = query_select_threads(p, filter);

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!is_selected[thread - p->threads.rows.items])
			continue;
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (profile_since_start(p, marker->start) < filter->until &&
			    profile_since_start(p, marker->end) >= filter->from)
				vec_push(&rows->list,
					 (struct marker_row){thread, marker, rows->list.count, 0});
		}
	}
}

/* Keeps markers of the same time in file order. */
ORDER(compare, struct marker_row,
      COMPARE(a->marker->start, b->marker->start) ?: COMPARE(a->number, b->number))

void marker_rows_make(struct marker_rows *rows, const struct profile *p,
		      const struct query_filter *filter)
{
	*rows = (struct marker_rows){0};
	collect(rows, p, filter);
	vec_sort(&rows->list, compare);
	for (size_t i = 0; i < rows->list.count; i++)
		rows->list.items[i].whole = i;
}

/* Kinds of markers of a wait, in order of preference for display. */
enum part {
	PART_WAIT,
	PART_CALL,
	PART_WAKE_UP,
	PART_CHILD,
	PART_NONE,
};

/* Times that different sources take of the same moment. */
#define SLACK_NS 2000000

static enum part part_of(const struct profile *p, const struct schema *schema)
{
	static const struct {
		enum marker_id id;
		enum part part;
	} kinds[] = {
		{MARKER_SLOW_CALL, PART_WAIT},	{MARKER_DISK_WAIT, PART_WAIT},
		{MARKER_FAULT_WAIT, PART_WAIT}, {MARKER_LOCK_WAIT, PART_WAIT},
		{MARKER_SYSCALL, PART_CALL},	{MARKER_WOKEN, PART_WAKE_UP},
		{MARKER_CHILD, PART_CHILD},
	};
	const char *name = strings_get(&p->strings, schema->name);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(marker_schema(kinds[i].id)->name, name) == 0)
			return kinds[i].part;
	}
	return PART_NONE;
}

/* The wait of a thread that is joined at present. */
struct joined {
	uint64_t start, end;
	size_t parts[PART_CHILD]; /* index + 1; 0: none yet */
	size_t children; /* the latest that began before: index + 1 */
};

/* A wait ends later than its wake-up if the thread was queued for a CPU in between. */
static bool is_part(const struct joined *j, const struct marker *marker, enum part part)
{
	return !j->parts[part] && j->end && marker->start <= j->end &&
	       marker->start + SLACK_NS >= j->start &&
	       (marker->end <= j->end + SLACK_NS || (part == PART_WAIT && j->parts[PART_WAKE_UP]));
}

/* By the name of the call, of the marker itself or in its first field. */
static bool waits_for_child(const struct profile *p, const struct marker *marker)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
	const struct marker_value *value = schema->field_count
						   ? marker_value(&p->markers, marker, 0)
						   : NULL;

	if (part_of(p, schema) == PART_WAIT && value && value->type == FIELD_STRING)
		return strncmp(strings_get(&p->strings, value->string), "wait", 4) == 0;
	return strncmp(strings_get(&p->strings, marker->name), "wait", 4) == 0;
}

static void join_all(struct marker_rows *rows, const struct profile *p, const struct joined *j)
{
	size_t whole = 0;

	for (int part = 0; part < PART_CHILD && !whole; part++)
		whole = j->parts[part];
	for (int part = 0; part < PART_CHILD; part++) {
		if (j->parts[part])
			rows->list.items[j->parts[part] - 1].whole = whole - 1;
	}
	if (whole && j->children && waits_for_child(p, rows->list.items[whole - 1].marker)) {
		struct marker_row *child = &rows->list.items[j->children - 1];
		uint64_t end = child->marker->end;

		if (end <= j->end + SLACK_NS && end + SLACK_NS >= j->start)
			child->whole = whole - 1;
	}
}

void marker_rows_join(struct marker_rows *rows, const struct profile *p)
{
	_cleanup_free_ struct joined *of_threads = xcalloc(p->threads.rows.count + 1,
							   sizeof(*of_threads));
	_cleanup_free_ uint8_t *parts = xcalloc(p->markers.schemas.rows.count + 1, 1);

	for (size_t i = 0; i < p->markers.schemas.rows.count; i++)
		parts[i] = (uint8_t)part_of(p, &p->markers.schemas.rows.items[i]);
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct marker_row *row = &rows->list.items[i];
		struct joined *j = &of_threads[row->thread - p->threads.rows.items];
		enum part part = parts[row->marker->schema];

		if (part == PART_NONE)
			continue;
		if (part == PART_CHILD) {
			join_all(rows, p, j);
			*j = (struct joined){.children = i + 1};
			continue;
		}
		if (!is_part(j, row->marker, part)) {
			size_t children = j->children;

			join_all(rows, p, j);
			*j = (struct joined){.start = row->marker->start, .children = children};
		}
		j->parts[part] = i + 1;
		j->end = MAX(j->end, row->marker->end);
	}
	for (size_t i = 0; i < p->threads.rows.count; i++)
		join_all(rows, p, &of_threads[i]);
}

thread_id marker_waker(const struct profile *p, const struct marker *marker)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
	const char *key = marker_schema(MARKER_WOKEN)->fields[WOKEN_TID].key;
	uint32_t field = schema_find_field(&p->markers.schemas, schema,
					   strings_find(&p->strings, key, strlen(key)));
	const struct marker_value *value;

	if (part_of(p, schema) != PART_WAKE_UP || field >= schema->field_count)
		return NO_THREAD;
	value = marker_value(&p->markers, marker, field);
	for (thread_id id = 0; value->number && id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->tid == value->number && thread->start <= marker->end &&
		    (!thread->end || thread->end >= marker->end))
			return id;
	}
	return NO_THREAD;
}

void marker_rows_release(struct marker_rows *rows)
{
	vec_release(&rows->list);
}

static void add_value(const struct profile *p, const struct marker_value *value,
		      struct strbuf *text)
{
	char bytes[32];

	switch (value->type) {
	case FIELD_STRING:
		strbuf_adds(text, strings_get(&p->strings, value->string));
		break;
	case FIELD_BYTES:
		text_format_bytes(bytes, sizeof(bytes), value->number);
		strbuf_adds(text, bytes);
		break;
	case FIELD_DURATION:
		strbuf_addf(text, "%.6g ms", (double)value->number / 1e6);
		break;
	case FIELD_TIME:
		strbuf_addf(text, "%.6f s", (double)profile_since_start(p, value->number) / 1e9);
		break;
	case FIELD_PERCENTAGE:
		strbuf_addf(text, "%.4g %%", (double)value->number / 1e4);
		break;
	default:
		strbuf_addf(text, "%" PRId64, (int64_t)value->number);
	}
}

char *marker_fields_text(const struct profile *p, const struct marker *marker)
{
	const struct schemas *schemas = &p->markers.schemas;
	const struct schema *schema = schemas_get(schemas, marker->schema);
	const struct schema_field *field = schema_fields(schemas, schema);
	struct strbuf text = {0};

	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);
		string_id label = field[i].label == NO_STRING ? field[i].key : field[i].label;

		if (value->type == FIELD_NONE || value->type == FIELD_STACK)
			continue;
		strbuf_addf(&text, "%s%s: ", text.size ? ", " : "",
			    strings_get(&p->strings, label));
		add_value(p, value, &text);
	}
	return text.size ? strbuf_take(&text) : NULL;
}
