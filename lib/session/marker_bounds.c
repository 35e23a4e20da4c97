/* SPDX-License-Identifier: MIT */
#include "lib/session/marker_bounds.h"

#include "lib/profile/schema_text.h"
#include "lib/session/own_markers.h"

/* Limit only now and then, when this many times as many have come. */
#define SLACK 2u
#define ADDED_MAX (4u * MARKERS_MAX)

void marker_bounds_release(struct marker_bounds *b)
{
	vec_release(&b->left_out);
}

static bool is_bounded(const struct marker *marker)
{
	return marker->schema >= OWN_MARKER_COUNT;
}

static uint64_t length(const struct marker *marker)
{
	return marker->end - marker->start;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Sorts just enough that items[at] is the one that sorting would put there. */
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
	uint64_t length; /* shorter ones go */
	size_t equal; /* of those of this length, so many go */
};

static struct limit find_limit(uint64_t *lengths, size_t count, size_t wanted)
{
	struct limit limit;
	size_t shorter = 0;

	select_at(lengths, count, count - wanted);
	limit.length = lengths[count - wanted];
	for (size_t i = 0; i < count; i++)
		shorter += lengths[i] < limit.length;
	limit.equal = count - wanted - shorter;
	return limit;
}

static void leave_out(struct marker_bounds *b, struct profile *p, thread_id thread,
		      struct limit *limit)
{
	struct profile_thread *row = threads_get(&p->threads, thread);
	size_t kept = 0;

	if (b->left_out.count <= thread)
		vec_add_zeroed(&b->left_out, thread + 1 - b->left_out.count);
	for (size_t i = 0; i < row->markers.count; i++) {
		const struct marker *marker = &row->markers.items[i];
		bool goes = is_bounded(marker) && length(marker) <= limit->length;

		if (goes && length(marker) == limit->length) {
			goes = limit->equal;
			limit->equal -= goes;
		}
		if (goes)
			b->left_out.items[thread]++;
		else
			row->markers.items[kept++] = *marker;
	}
	row->markers.count = kept;
}

struct lengths {
	VEC(uint64_t) of;
};

static void add_lengths(struct lengths *lengths, const struct profile_thread *row)
{
	vec_for_each(&row->markers, const struct marker *, marker) {
		if (is_bounded(marker))
			vec_push(&lengths->of, length(marker));
	}
}

static void limit_thread(struct marker_bounds *b, struct profile *p, thread_id thread)
{
	struct lengths lengths = {0};
	struct limit limit;

	add_lengths(&lengths, threads_get(&p->threads, thread));
	if (lengths.of.count > MARKERS_PER_THREAD) {
		limit = find_limit(lengths.of.items, lengths.of.count, MARKERS_PER_THREAD);
		leave_out(b, p, thread, &limit);
	}
	vec_release(&lengths.of);
}

static void limit_all(struct marker_bounds *b, struct profile *p)
{
	struct lengths lengths = {0};
	struct limit limit;

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		limit_thread(b, p, id);
		add_lengths(&lengths, threads_get(&p->threads, id));
	}
	if (lengths.of.count > MARKERS_MAX) {
		limit = find_limit(lengths.of.items, lengths.of.count, MARKERS_MAX);
		for (thread_id id = 0; id < p->threads.rows.count; id++)
			leave_out(b, p, id, &limit);
	}
	vec_release(&lengths.of);
}

void marker_bounds_added(struct marker_bounds *b, struct profile *p, thread_id thread)
{
	size_t count = threads_get(&p->threads, thread)->markers.count;

	if (++b->added >= ADDED_MAX) {
		limit_all(b, p);
		b->added = 0;
	} else if (count >= SLACK * MARKERS_PER_THREAD && count % MARKERS_PER_THREAD == 0) {
		limit_thread(b, p, thread);
	}
}

/* The schema is in profiles that need it, and in no others. */
static schema_id left_out_schema(struct profile *p)
{
	static const struct schema_text text = {
		.name = "markers left out",
		.label = "{marker.data.count} shorter markers left out",
		.fields = {{"count", "Markers left out", FIELD_INTEGER}},
	};

	return schema_text_intern(&text, &p->markers.schemas, &p->strings);
}

static void tell(struct profile *p, thread_id thread, uint64_t count)
{
	struct profile_thread *row = threads_get(&p->threads, thread);
	schema_id schema = left_out_schema(p);
	struct marker marker;

	p->stats.left_out_markers += count;
	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, row->start,
			      row->end ? row->end : p->meta.end_ns);
	*marker_value(&p->markers, &marker, 0) = marker_integer((int64_t)count);
	vec_push(&row->markers, marker);
}

void marker_bounds_finish(struct marker_bounds *b, struct profile *p)
{
	limit_all(b, p);
	for (thread_id id = 0; id < b->left_out.count; id++) {
		if (b->left_out.items[id])
			tell(p, id, b->left_out.items[id]);
	}
}
