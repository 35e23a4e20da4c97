/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/marker_completion.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/markers.h"

/* Returns NO_SCHEMA if there is none. */
static schema_id find_schema(const struct profile *p)
{
	return schema_text_find(MARKER_LONG_TASK, &p->markers.schemas, &p->strings);
}

bool long_tasks_are_in(const struct profile *p)
{
	return find_schema(p) != NO_SCHEMA;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_usable(const struct sample *sample, const struct marker *marker)
{
	return sample->stack != NO_STACK && sample->time >= marker->start &&
	       sample->time <= marker->end;
}

/* Stores the sample nearest to the middle of the marker; false if the thread has none within it. */
static bool find_sample(const struct profile *p, const struct profile_thread *row,
			const struct marker *marker, struct sample *found)
{
	uint64_t middle = marker->start + (marker->end - marker->start) / 2;
	_cleanup_(sample_iterator_release) struct sample_iterator back =
		samples_after(&row->samples, middle);
	_cleanup_(sample_iterator_release) struct sample_iterator on = samples_after(&row->samples,
										     middle);
	const struct sample *left, *right;

	while ((left = sample_iterator_before(&back)) && left->time >= marker->start &&
	       !is_usable(left, marker))
		;
	while ((right = sample_iterator_next(&on)) && right->time <= marker->end &&
	       !is_usable(right, marker))
		;
	left = left && is_usable(left, marker) ? left : NULL;
	right = right && is_usable(right, marker) ? right : NULL;
	/* A wait lasts until the next sample. */
	if (!left || (right && !profile_is_wait(p, left) &&
		      distance(left->time, middle) > distance(right->time, middle)))
		left = right;
	if (left)
		*found = *left;
	return left;
}

void long_tasks_set_causes(struct profile *p)
{
	schema_id schema = find_schema(p);
	uint32_t cause;

	if (schema == NO_SCHEMA)
		return;
	cause = schemas_get(&p->markers.schemas, schema)->field_count;
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		vec_for_each(&row->markers, struct marker *, marker) {
			struct sample sample;

			if (marker->schema != schema || !find_sample(p, row, marker, &sample))
				continue;
			*marker_value(&p->markers, marker, cause) = marker_stack(sample.stack);
			marker->cause_time = sample.time;
		}
	}
}

ORDER(compare, struct long_task, COMPARE(a->start, b->start))

/* Merge overlapping tasks, which files may contain. */
static void join(struct long_tasks *t)
{
	size_t kept = 0;

	vec_sort(&t->rows, compare);
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct long_task *row = &t->rows.items[i];
		struct long_task *last = kept ? &t->rows.items[kept - 1] : NULL;

		if (!last || row->start >= last->end)
			t->rows.items[kept++] = *row;
		else if (row->end > last->end)
			last->end = row->end;
	}
	t->rows.count = kept;
}

void long_tasks_find(struct long_tasks *t, const struct profile *p,
		     const struct profile_thread *thread)
{
	schema_id schema = find_schema(p);

	vec_clear(&t->rows);
	if (schema == NO_SCHEMA)
		return;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		if (marker->schema == schema && marker->end > marker->start)
			vec_push(&t->rows, (struct long_task){marker->start, marker->end});
	}
	join(t);
}

uint64_t long_tasks_delay(const struct long_tasks *t, uint64_t time, size_t *at)
{
	while (*at < t->rows.count && t->rows.items[*at].end < time)
		++*at;
	if (*at == t->rows.count || t->rows.items[*at].start > time)
		return 0;
	return time - t->rows.items[*at].start;
}

/* Last words of the names of a pair. */
static const struct {
	const char *first, *second;
} pairs[] = {
	{"start", "done"},   {"start", "end"},	 {"start", "stop"},   {"start", "finish"},
	{"begin", "end"},    {"begin", "done"},	 {"entry", "return"}, {"entry", "exit"},
	{"enter", "return"}, {"enter", "leave"},
};

/* By schema_id: the schema of the second probe of a pair, and the inverse. */
struct partners {
	schema_id *second, *first; /* NO_SCHEMA: none */
};

/* Returns the size of the name before its last word and the separator; 0: no such word. */
static size_t size_before(const char *name, const char *word)
{
	size_t size = strlen(name), end = strlen(word), begin;

	if (size <= end || strcmp(name + size - end, word) != 0)
		return 0;
	begin = size -= end;
	while (begin && (name[begin - 1] == '_' || name[begin - 1] == '-'))
		begin--;
	return begin < size ? begin : 0;
}

static schema_id find_second(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t size = size_before(name, pairs[i].first);

		for (schema_id id = 0; size && id < p->markers.schemas.rows.count; id++) {
			const char *other = strings_get(&p->strings,
							schemas_get(&p->markers.schemas, id)->name);

			if (strncmp(name, other, size) == 0 &&
			    size_before(other, pairs[i].second) == size)
				return id;
		}
	}
	return NO_SCHEMA;
}

static bool find_partners(const struct profile *p, struct partners *partners)
{
	size_t count = p->markers.schemas.rows.count;
	bool has_pairs = false;

	for (schema_id id = 0; id < count; id++)
		partners->first[id] = partners->second[id] = NO_SCHEMA;
	for (schema_id id = 0; id < count; id++) {
		const char *name = strings_get(&p->strings,
					       schemas_get(&p->markers.schemas, id)->name);
		schema_id second = text_starts_with(name, USDT_SCHEMA_PREFIX) ? find_second(p, name)
									      : NO_SCHEMA;

		if (second == NO_SCHEMA || partners->first[second] != NO_SCHEMA)
			continue;
		partners->second[id] = second;
		partners->first[second] = id;
		has_pairs = true;
	}
	return has_pairs;
}

ORDER(compare_starts, struct marker *const, COMPARE((*a)->start, (*b)->start) ?: COMPARE(*a, *b))

struct marker_list {
	VEC(struct marker *) rows;
};

/* Extends the latest open marker of the schema. Those inside of it have lost their second probe. */
static void close_span(struct marker_list *open, schema_id first, uint64_t end)
{
	for (size_t i = open->rows.count; i-- > 0;) {
		if (open->rows.items[i]->schema != first)
			continue;
		open->rows.items[i]->end = end;
		open->rows.count = i;
		return;
	}
}

static void join_thread(struct profile_thread *thread, const struct partners *partners)
{
	struct marker_list probes = {0}, open = {0};

	vec_for_each(&thread->markers, struct marker *, marker) {
		if (partners->first[marker->schema] != NO_SCHEMA ||
		    partners->second[marker->schema] != NO_SCHEMA)
			vec_push(&probes.rows, marker);
	}
	vec_sort(&probes.rows, compare_starts);
	vec_for_each(&probes.rows, struct marker **, probe) {
		if (partners->second[(*probe)->schema] != NO_SCHEMA)
			vec_push(&open.rows, *probe);
		else
			close_span(&open, partners->first[(*probe)->schema], (*probe)->start);
	}
	vec_release(&probes.rows);
	vec_release(&open.rows);
}

void probe_spans_join(struct profile *p)
{
	size_t count = p->markers.schemas.rows.count;
	_cleanup_free_ schema_id *first = xcalloc(count + 1, sizeof(*first));
	_cleanup_free_ schema_id *second = xcalloc(count + 1, sizeof(*second));
	struct partners partners = {.first = first, .second = second};

	if (!find_partners(p, &partners))
		return;
	vec_for_each(&p->threads.rows, struct profile_thread *, thread)
		join_thread(thread, &partners);
}

/* In the order of the rows from MARKER_SLOW_CALL on. Initially, all are calls. */
enum kind {
	KIND_CALL,
	KIND_DISK,
	KIND_FAULT,
	KIND_LOCK,
	KIND_COUNT,
	KIND_NONE = KIND_COUNT,
};

_Static_assert(MARKER_SLOW_CALL + KIND_LOCK == MARKER_LOCK_WAIT, "the kinds are those rows");

static schema_id intern_schema(struct profile *p, enum kind kind)
{
	return schema_text_intern(marker_schema(MARKER_SLOW_CALL + kind), &p->markers.schemas,
				  &p->strings);
}

schema_id slow_waits_schema(struct profile *p)
{
	return intern_schema(p, KIND_CALL);
}

/* Returns the reason of a wait, given its label; KIND_NONE: nothing to show. */
static enum kind kind_of(const struct frame *label)
{
	static const uint8_t kinds[] = {
		[IDLE_OTHER] = KIND_CALL,  [IDLE_TIMER] = KIND_NONE,
		[IDLE_LOCK] = KIND_LOCK,   [IDLE_CONDITION] = KIND_NONE,
		[IDLE_DISK] = KIND_DISK,   [IDLE_FAULT] = KIND_FAULT,
		[IDLE_PIPE] = KIND_CALL,   [IDLE_SOCKET] = KIND_CALL,
		[IDLE_CHILD] = KIND_CALL,  [IDLE_PREEMPTED] = KIND_NONE,
		[IDLE_QUEUED] = KIND_NONE, [IDLE_FOR_WORK] = KIND_NONE,
	};

	return label->category == CATEGORY_IDLE && label->subcategory < sizeof(kinds)
		       ? (enum kind)kinds[label->subcategory]
		       : KIND_NONE;
}

static enum kind kind_of_marker(const struct profile *p, const struct marker *marker)
{
	stack_id stack = marker_cause(&p->markers, marker);

	if (stack == NO_STACK)
		return KIND_CALL;
	return kind_of(profile_frame_of(p, stack));
}

void slow_waits_classify(struct profile *p)
{
	schema_id slow = schema_text_find(MARKER_SLOW_CALL, &p->markers.schemas, &p->strings);
	schema_id schemas[KIND_COUNT] = {slow};

	/* A program's own markers may have the same name. */
	if (slow == NO_SCHEMA || slow_waits_schema(p) != slow)
		return;
	for (enum kind kind = KIND_DISK; kind < KIND_COUNT; kind++)
		schemas[kind] = intern_schema(p, kind);
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		size_t kept = 0;

		for (size_t i = 0; i < row->markers.count; i++) {
			struct marker marker = row->markers.items[i];
			enum kind kind = marker.schema == slow ? kind_of_marker(p, &marker)
							       : KIND_CALL;

			if (kind == KIND_NONE)
				continue;
			if (marker.schema == slow && schemas[kind] != NO_SCHEMA) {
				marker.schema = schemas[kind];
				marker.name = schemas_get(&p->markers.schemas, marker.schema)->name;
			}
			row->markers.items[kept++] = marker;
		}
		row->markers.count = kept;
	}
}
