/* SPDX-License-Identifier: MIT */
#include "lib/query/wakings.h"

#include "lib/model/facts/facts.h"

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
