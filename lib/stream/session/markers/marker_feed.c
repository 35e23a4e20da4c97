/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/markers/marker_feed.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/markers.h"
#include "lib/stream/record/records.h"

uint64_t fair_share(uint64_t *counts, size_t kinds, uint64_t max)
{
	qsort(counts, kinds, sizeof(*counts), u64_compare);
	for (size_t i = 0; i < kinds; i++) {
		uint64_t share = max / (kinds - i);

		if (counts[i] > share)
			return share;
		max -= counts[i];
	}
	return UINT64_MAX;
}

/* Limits are applied once there are this many times as many markers. */
#define SLACK 2u
#define ADDED_MAX MARKERS_MAX
/* Maximum number of threads with a marker of their own for omitted markers: those with the most. */
#define TELLING_MAX 200u

void marker_bounds_release(struct marker_bounds *b)
{
	vec_release(&b->left_out);
	vec_release(&b->floors);
}

/* Exempts markers of losses from the limits: they are few. */
static bool is_bounded(const struct marker *marker)
{
	return marker->schema < MARKER_LOST || marker->schema >= MARKERS_OF_SESSION;
}

/*
 * Orders markers by length, at random among equal lengths, so that if there are many instants, some
 * remain in each second.
 */
#define CHANCE_BITS 20
#define LENGTH_MAX ((1ull << (64 - CHANCE_BITS)) - 1)

static uint64_t rank(const struct marker *marker)
{
	uint64_t length = marker->end - marker->start;
	uint64_t chance = hash_pair(marker->start, marker->schema);

	length = MIN(length, LENGTH_MAX);
	return length << CHANCE_BITS | (chance & ((1u << CHANCE_BITS) - 1));
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Sorts only as far as needed to put the right item at items[at]. */
static void select_at(uint64_t *items, size_t count, size_t at)
{
	while (count > 1) {
		uint64_t pivot = items[(count - 1) / 2];
		size_t low = 0, high = count - 1;

		for (;;) {
			while (items[low] < pivot)
				low++;
			while (items[high] > pivot)
				high--;
			if (low >= high)
				break;
			swap(&items[low++], &items[high--]);
		}
		if (at <= high) {
			count = high + 1;
		} else {
			items += high + 1;
			at -= high + 1;
			count -= high + 1;
		}
	}
}

struct limit {
	uint64_t rank; /* markers of a lower rank are dropped */
	size_t equal; /* number of markers of exactly this rank to drop */
};

static struct limit find_limit(uint64_t *ranks, size_t count, size_t wanted)
{
	struct limit limit;
	size_t lower = 0;

	select_at(ranks, count, count - wanted);
	limit.rank = ranks[count - wanted];
	for (size_t i = 0; i < count; i++)
		lower += ranks[i] < limit.rank;
	limit.equal = count - wanted - lower;
	return limit;
}

struct counts {
	VEC(uint64_t) of;
};

/* Threads whose markers are limited together, with a limit per schema. */
struct group {
	struct profile *profile;
	thread_id first, end;
	VEC(uint64_t) counts; /* by schema */
	VEC(struct limit) limits; /* by schema */
	VEC(uint64_t) ranks; /* of schemas with more than their share, one after another */
	VEC(size_t) ends; /* by schema: the end of its ranks */
};

#define group_each(g, marker) \
	for (thread_id id_ = (g)->first; id_ < (g)->end; id_++) \
		vec_for_each(&threads_get(&(g)->profile->threads, id_)->markers, \
			     const struct marker *, marker)

static void group_release(struct group *g)
{
	vec_release(&g->counts);
	vec_release(&g->limits);
	vec_release(&g->ranks);
	vec_release(&g->ends);
}

/* Counts markers by schema. Returns their total. */
static uint64_t count_markers(struct group *g)
{
	uint64_t count = 0;

	vec_add_zeroed(&g->counts, g->profile->markers.schemas.rows.count);
	group_each(g, marker)
	{
		count += is_bounded(marker);
		g->counts.items[marker->schema] += is_bounded(marker);
	}
	return count;
}

/* Collects the ranks of all schemas with more markers than their share, in one pass. */
static void collect_ranks(struct group *g, uint64_t share)
{
	size_t total = 0;

	vec_clear(&g->ends);
	vec_add_zeroed(&g->ends, g->counts.count);
	for (schema_id id = 0; id < g->counts.count; id++) {
		if (g->counts.items[id] <= share)
			continue;
		g->ends.items[id] = total;
		total += g->counts.items[id];
	}
	vec_clear(&g->ranks);
	vec_add_zeroed(&g->ranks, total);
	group_each(g, marker)
	{
		if (g->counts.items[marker->schema] > share)
			g->ranks.items[g->ends.items[marker->schema]++] = rank(marker);
	}
}

/* Sets limits by schema, so that a flood of one schema leaves room for rare ones, such as kills. */
static void find_limits(struct group *g, uint64_t max)
{
	struct counts sorted = {0};
	uint64_t share;

	vec_for_each(&g->counts, const uint64_t *, count)
		vec_push(&sorted.of, *count);
	share = fair_share(sorted.of.items, sorted.of.count, max);
	vec_release(&sorted.of);
	collect_ranks(g, share);
	vec_add_zeroed(&g->limits, g->counts.count);
	for (schema_id id = 0; id < g->counts.count; id++) {
		size_t count = g->counts.items[id];

		if (count > share)
			g->limits.items[id] = find_limit(g->ranks.items + g->ends.items[id] - count,
							 count, share);
	}
}

static bool goes(struct group *g, const struct marker *marker)
{
	struct limit *limit = &g->limits.items[marker->schema];
	uint64_t at = rank(marker);

	if (!is_bounded(marker) || at > limit->rank)
		return false;
	if (at < limit->rank)
		return true;
	if (!limit->equal)
		return false;
	limit->equal--;
	return true;
}

static void count_left_out(struct marker_bounds *b, thread_id thread, uint64_t count)
{
	if (b->left_out.count <= thread)
		vec_add_zeroed(&b->left_out, thread + 1 - b->left_out.count);
	b->left_out.items[thread] += count;
}

static void leave_out(struct marker_bounds *b, struct group *g, thread_id thread)
{
	struct profile_thread *row = threads_get(&g->profile->threads, thread);
	size_t kept = 0;

	for (size_t i = 0; i < row->markers.count; i++) {
		if (!goes(g, &row->markers.items[i]))
			row->markers.items[kept++] = row->markers.items[i];
	}
	count_left_out(b, thread, row->markers.count - kept);
	b->dropped += row->markers.count - kept;
	row->markers.count = kept;
	if (row->markers.capacity > 2 * kept)
		vec_fit(&row->markers);
}

static void limit(struct marker_bounds *b, struct group *g, uint64_t max)
{
	if (count_markers(g) <= max)
		return;
	find_limits(g, max);
	for (thread_id id = g->first; id < g->end; id++)
		leave_out(b, g, id);
}

static void limit_thread(struct marker_bounds *b, struct profile *p, thread_id thread)
{
	struct group g = {.profile = p, .first = thread, .end = thread + 1};

	limit(b, &g, MARKERS_PER_THREAD);
	group_release(&g);
}

/* Raises the floors to the new limits. */
static void keep_floors(struct marker_bounds *b, const struct group *all)
{
	if (b->floors.count < all->limits.count)
		vec_add_zeroed(&b->floors, all->limits.count - b->floors.count);
	for (size_t i = 0; i < all->limits.count; i++)
		b->floors.items[i] = MAX(b->floors.items[i], all->limits.items[i].rank);
}

void marker_bounds_limit(struct marker_bounds *b, struct profile *p)
{
	struct group all = {.profile = p, .end = (thread_id)p->threads.rows.count};

	b->added = 0;
	if (b->is_off)
		return;
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		if (threads_get(&p->threads, id)->markers.count > MARKERS_PER_THREAD)
			limit_thread(b, p, id);
	}
	limit(b, &all, MARKERS_MAX);
	keep_floors(b, &all);
	group_release(&all);
}

/*
 * Returns false, and counts the marker as left out, if the next limit would drop it anyway; its
 * values need not be stored then.
 */
static bool marker_bounds_admit(struct marker_bounds *b, thread_id thread,
				const struct marker *marker)
{
	if (!is_bounded(marker) || marker->schema >= b->floors.count ||
	    rank(marker) >= b->floors.items[marker->schema])
		return true;
	count_left_out(b, thread, 1);
	return false;
}

void marker_bounds_added(struct marker_bounds *b, struct profile *p, thread_id thread)
{
	size_t count = threads_get(&p->threads, thread)->markers.count;

	if (b->is_off)
		return;
	if (++b->added >= ADDED_MAX)
		marker_bounds_limit(b, p);
	else if (count >= SLACK * MARKERS_PER_THREAD && count % MARKERS_PER_THREAD == 0)
		limit_thread(b, p, thread);
}

/* Interns the schema only in profiles that need it. */
static schema_id left_out_schema(struct profile *p)
{
	return schema_text_intern(marker_schema(MARKER_LEFT_OUT), &p->markers.schemas, &p->strings);
}

/*
 * Makes a marker with the number of omitted markers. Returns false if there are too many schemas.
 */
static bool make_left_out(struct profile *p, uint64_t count, struct marker *marker)
{
	schema_id schema = left_out_schema(p);

	p->stats.left_out_markers += count;
	if (schema == NO_SCHEMA)
		return false;
	*marker = markers_make(&p->markers, schema, p->meta.start_ns, p->meta.end_ns);
	*marker_value(&p->markers, marker, LEFT_OUT_COUNT) = marker_integer((int64_t)count);
	return true;
}

static void add_left_out(struct profile *p, thread_id thread, uint64_t count)
{
	struct profile_thread *row = threads_get(&p->threads, thread);
	struct marker marker;

	if (!make_left_out(p, count, &marker))
		return;
	marker.start = row->start;
	if (row->end)
		marker.end = row->end;
	vec_push(&row->markers, marker);
}

/* Returns the minimum number of omitted markers for which a thread gets a marker of its own. */
static uint64_t least_told(const struct marker_bounds *b)
{
	struct counts sorted = {0};
	uint64_t least = 1;

	vec_for_each(&b->left_out, const uint64_t *, count)
		vec_push(&sorted.of, *count);
	if (sorted.of.count > TELLING_MAX) {
		vec_sort(&sorted.of, u64_compare);
		least = sorted.of.items[sorted.of.count - TELLING_MAX - 1] + 1;
	}
	vec_release(&sorted.of);
	return least;
}

bool marker_bounds_finish(struct marker_bounds *b, struct profile *p, struct marker *others)
{
	uint64_t least, count = 0, threads = 0;

	if (b->is_off)
		return false;
	marker_bounds_limit(b, p);
	least = least_told(b);
	for (thread_id id = 0; id < b->left_out.count; id++) {
		uint64_t of_thread = b->left_out.items[id];

		if (of_thread >= least) {
			add_left_out(p, id, of_thread);
		} else {
			count += of_thread;
			threads += of_thread != 0;
		}
	}
	if (!count || !make_left_out(p, count, others))
		return false;
	*marker_value(&p->markers, others, 1) = marker_integer((int64_t)threads);
	return true;
}

#define KEY_SIZE_MAX 64
#define MACHINE_ROWS_MAX 16

void marker_feed_release(struct marker_feed *f)
{
	vec_release(&f->schemas);
	index_release(&f->by_wire_id);
	vec_release(&f->machine);
	vec_release(&f->rows);
	marker_bounds_release(&f->bounds);
}

INDEX_HAS(wire_id_equal, struct marker_feed, schemas, wire_id)

static const struct wire_schema *find_schema(const struct marker_feed *f, uint32_t wire_id)
{
	uint32_t id = index_find(&f->by_wire_id, hash_u64(wire_id), wire_id_equal, f, &wire_id);

	return id == INDEX_NONE ? NULL : &f->schemas.items[id];
}

/* Consumes the next string; NO_STRING if it is empty. */
static string_id take_text(struct strings *strings, const char **text, size_t size)
{
	const char *start = *text;

	*text += size;
	return size ? strings_intern_sized(strings, start, size) : NO_STRING;
}

/* Fields are found by key, and labels refer to keys, so a key must be an identifier. */
static bool is_key(const struct strings *strings, string_id id)
{
	const char *key = strings_get(strings, id);
	size_t size = strings_size(strings, id);

	if (!size || size > KEY_SIZE_MAX || isdigit((unsigned char)key[0]) ||
	    strcmp(key, "type") == 0 || strcmp(key, "cause") == 0)
		return false;
	return !items_find(key, size, it, !isalnum((unsigned char)*it) && *it != '_');
}

static bool has_field(const struct strings *strings, const struct schema_field *fields,
		      uint32_t count, const char *key, size_t size)
{
	return items_find(fields, count, it,
			  strings_size(strings, it->key) == size &&
				  memcmp(strings_get(strings, it->key), key, size) == 0);
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
	struct schema_field fields[SCHEMA_FIELDS_MAX] = {0};
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

/* Stacks come last: their values may be known only later. */
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
 * Finds the thread of a program's report, which neither introduces threads nor extends their lives.
 * NO_THREAD if even the process is unknown.
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

/* Returns the machine's row with that name; NO_THREAD if there are too many. */
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
	/* The row's title replaces the category. */
	marker->category = NO_STRING;
	add_marker(f, row, marker);
}

/* Returns the thread of a marker that is not the machine's; NO_THREAD if unknown. */
static thread_id find_thread(const struct marker_feed *f, const struct rec *rec)
{
	return rec->flags & MARKER_TOLD ? find_told(f->tasks, rec)
					: tasks_sampled(f->tasks, rec, 0);
}

/* Returns false if the marker is too short to be kept, so that its values can be skipped. */
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

/* Maximum number of open spans added to a stack; beyond it the innermost are left out. */
#define OPEN_MAX 64

/* A stack with span frames, derived from another stack. */
struct made {
	stack_id root; /* root stack of the innermost span */
	stack_id stack;
};

struct span_frames {
	struct profile *profile;
	VEC(struct marker) spans; /* spans of one thread, by beginning */
	const struct marker *open[OPEN_MAX]; /* open spans, by beginning */
	size_t open_count;
	stack_id root; /* root stack of the open spans; NO_STACK: none */
	VEC(struct made) made; /* by the stack they were derived from */
	VEC(stack_id) chain;
};

/* Puts the longer one of equal beginnings first: it is the outer one. */
ORDER(compare_starts, struct marker,
      COMPARE(a->start, b->start) ?: COMPARE(b->end, a->end) ?:
      COMPARE(a->first_value, b->first_value))

static void end_with_thread(const struct profile *p, struct profile_thread *row)
{
	uint64_t end = row->end ? row->end : p->meta.end_ns;

	vec_for_each(&row->markers, struct marker *, marker) {
		if (marker->is_told && marker->end > end)
			marker->end = marker->start > end ? marker->start : end;
	}
}

static void make_root(struct span_frames *s)
{
	const struct frame_category other = {.category = CATEGORY_OTHER};
	struct profile *p = s->profile;

	s->root = NO_STACK;
	for (size_t i = 0; i < s->open_count; i++)
		s->root = stacks_intern(&p->stacks, s->root,
					label_frames_intern(p, s->open[i]->name, other));
}

/* Closes and opens spans up to this time. *next is the first span not opened so far. */
static void advance(struct span_frames *s, uint64_t time, size_t *next)
{
	size_t kept = 0;
	bool is_new;

	for (size_t i = 0; i < s->open_count; i++) {
		if (s->open[i]->end > time)
			s->open[kept++] = s->open[i];
	}
	is_new = kept != s->open_count;
	s->open_count = kept;
	for (; *next < s->spans.count && s->spans.items[*next].start <= time; ++*next) {
		if (s->spans.items[*next].end <= time || s->open_count == OPEN_MAX)
			continue;
		s->open[s->open_count++] = &s->spans.items[*next];
		is_new = true;
	}
	if (is_new)
		make_root(s);
}

/* Returns the stack with the open spans at its root. */
static stack_id rooted(struct span_frames *s, stack_id stack)
{
	struct stacks *stacks = &s->profile->stacks;
	struct made *made;
	stack_id id = s->root;

	if (s->made.count <= stack)
		vec_add_zeroed(&s->made, stack + 1 - s->made.count);
	made = &s->made.items[stack];
	if (made->stack && made->root == s->root)
		return made->stack;
	vec_clear(&s->chain);
	for (stack_id at = stack; at != NO_STACK; at = stacks->rows.items[at].parent)
		vec_push(&s->chain, stacks->rows.items[at].frame);
	while (s->chain.count)
		id = stacks_intern(stacks, id, s->chain.items[--s->chain.count]);
	*made = (struct made){s->root, id};
	return id;
}

static void take_spans(struct span_frames *s, const struct profile_thread *row)
{
	vec_clear(&s->spans);
	s->open_count = 0;
	s->root = NO_STACK;
	vec_for_each(&row->markers, const struct marker *, marker) {
		if (marker->is_frame && marker->end > marker->start)
			vec_push(&s->spans, *marker);
	}
	vec_sort(&s->spans, compare_starts);
}

static void add_frames(struct span_frames *s, struct profile_thread *row)
{
	size_t next = 0;

	take_spans(s, row);
	if (!s->spans.count)
		return;
	samples_change_each(&row->samples, sample) {
		advance(s, sample->time, &next);
		if (s->root != NO_STACK && sample->stack != NO_STACK)
			sample->stack = rooted(s, sample->stack);
	}
}

void span_frames_finish(struct profile *p)
{
	struct span_frames s = {.profile = p, .root = NO_STACK};

	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		end_with_thread(p, row);
		add_frames(&s, row);
	}
	vec_release(&s.spans);
	vec_release(&s.made);
	vec_release(&s.chain);
}
