/* SPDX-License-Identifier: MIT */
#include "lib/query/marker_rows.h"

#include "lib/model/facts/facts.h"

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

static uint32_t find_field(const struct profile *p, schema_id id, const char *key)
{
	return schema_find_field(&p->markers.schemas, schemas_get(&p->markers.schemas, id),
				 strings_find(&p->strings, key, strlen(key)));
}

ORDER(compare_tids, struct thread_of_tid, COMPARE(a->tid, b->tid) ?: COMPARE(a->name, b->name))

bool wakings_init(struct wakings *w, const struct profile *p)
{
	const struct marker_schema *woken = marker_schema(MARKER_WOKEN),
				   *path = marker_schema(MARKER_CRITICAL_PATH);

	*w = (struct wakings){
		.p = p,
		.woken = schema_text_find(MARKER_WOKEN, &p->markers.schemas, &p->strings),
		.path = schema_text_find(MARKER_CRITICAL_PATH, &p->markers.schemas, &p->strings),
	};
	if (w->woken != NO_SCHEMA) {
		w->waker = find_field(p, w->woken, woken->fields[WOKEN_WAKER].key);
		w->tid = find_field(p, w->woken, woken->fields[WOKEN_TID].key);
		w->stack = find_field(p, w->woken, woken->fields[WOKEN_STACK].key);
	}
	if (w->path != NO_SCHEMA)
		w->cause = find_field(p, w->path, path->fields[CRITICAL_PATH_CAUSE].key);
	if (w->woken == NO_SCHEMA && w->path == NO_SCHEMA)
		return false;
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		vec_push(&w->threads, ((struct thread_of_tid){thread->tid, thread->name}));
	vec_sort(&w->threads, compare_tids);
	return true;
}

/* NULL: the value is missing, or has another type. */
static const struct marker_value *value_of(const struct wakings *w, const struct marker *marker,
					   uint32_t field, enum field_type type)
{
	const struct marker_value *value;

	if (field >= schemas_get(&w->p->markers.schemas, marker->schema)->field_count)
		return NULL;
	value = marker_value(&w->p->markers, marker, field);
	return value->type == type ? value : NULL;
}

/* Returns NO_STRING if there is no such thread. */
static string_id thread_name(const struct wakings *w, uint64_t tid)
{
	size_t at = vec_count_front(&w->threads, it, it->tid < tid);

	return at < w->threads.count && w->threads.items[at].tid == tid ? w->threads.items[at].name
									: NO_STRING;
}

/* Returns the name of the thread of "make 1234", or the text if it does not name any. */
static string_id name_of_cause(const struct wakings *w, string_id cause)
{
	const char *text = strings_get(&w->p->strings, cause), *blank = strrchr(text, ' ');
	string_id name = NO_STRING;
	uint64_t tid;

	if (blank && text_to_u64(blank + 1, 10, &tid))
		name = thread_name(w, tid);
	return name == NO_STRING ? cause : name;
}

static void add_woken(struct wakings *w, const struct marker *marker)
{
	const struct marker_value *waker = value_of(w, marker, w->waker, FIELD_STRING);
	const struct marker_value *tid = value_of(w, marker, w->tid, FIELD_THREAD_ID);
	const struct marker_value *stack = value_of(w, marker, w->stack, FIELD_STACK);
	struct waking row = {
		.from = marker->start,
		.until = marker->end + w->p->meta.interval_ns,
		/* Files of the Firefox Profiler have it as the marker's cause. */
		.stack = stack ? stack->stack : marker_cause(&w->p->markers, marker),
		.name = tid ? thread_name(w, tid->number) : NO_STRING,
	};

	if (row.name == NO_STRING && waker)
		row.name = waker->string;
	if (row.name != NO_STRING)
		vec_push(&w->rows, row);
}

/* The part of the path begins when the thread was woken. */
static void add_cause(struct wakings *w, const struct marker *marker)
{
	const struct marker_value *cause = value_of(w, marker, w->cause, FIELD_STRING);
	uint64_t interval = w->p->meta.interval_ns;

	if (cause)
		vec_push(&w->rows,
			 ((struct waking){
				 .from = marker->start > interval ? marker->start - interval : 0,
				 .until = marker->start + interval,
				 .stack = NO_STACK,
				 .name = name_of_cause(w, cause->string),
			 }));
}

ORDER(compare_wakings, struct waking, COMPARE(a->from, b->from) ?: COMPARE(a->until, b->until))

void wakings_release(struct wakings *w)
{
	vec_release(&w->rows);
	vec_release(&w->threads);
}

void wakings_of_thread(struct wakings *w, thread_id id)
{
	w->rows.count = 0;
	vec_for_each(&w->p->threads.rows.items[id].markers, const struct marker *, marker) {
		if (marker->schema == w->woken)
			add_woken(w, marker);
		else if (marker->schema == w->path && w->woken == NO_SCHEMA)
			add_cause(w, marker);
	}
	vec_sort(&w->rows, compare_wakings);
}

const struct waking *wakings_at(const struct wakings *w, uint64_t time)
{
	size_t count = vec_count_front(&w->rows, it, it->from <= time);

	return count && w->rows.items[count - 1].until >= time ? &w->rows.items[count - 1] : NULL;
}
