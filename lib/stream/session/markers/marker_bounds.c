/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/markers/marker_bounds.h"

#include "lib/base/index.h"
#include "lib/model/tables/schema_text.h"
#include "lib/stream/session/markers/fair_share.h"

/* Limit only now and then, when this many times as many have come. */
#define SLACK 2u
#define ADDED_MAX MARKERS_MAX
/* Threads that tell themselves how many were left out: those of which most were. */
#define TELLING_MAX 200u

void marker_bounds_release(struct marker_bounds *b)
{
	vec_release(&b->left_out);
	vec_release(&b->floors);
}

/* Leaves markers of losses out of the limits: they are few. */
static bool is_bounded(const struct marker *marker)
{
	return marker->schema < MARKER_LOST || marker->schema >= MARKERS_OF_SESSION;
}

/*
 * Orders markers by length. Of those of one length chance decides, so that of many instants some of
 * each second stay.
 */
#define CHANCE_BITS 20
#define LENGTH_MAX ((1ull << (64 - CHANCE_BITS)) - 1)

static uint64_t rank(const struct marker *marker)
{
	uint64_t length = marker->end - marker->start;
	uint64_t chance = hash_pair(marker->start, marker->schema);

	if (length > LENGTH_MAX)
		length = LENGTH_MAX;
	return length << CHANCE_BITS | (chance & ((1u << CHANCE_BITS) - 1));
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
	uint64_t rank; /* markers of a lower one go */
	size_t equal; /* of those of this one, this many go */
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

/* Threads whose markers are limited together, and the limit of each schema. */
struct group {
	struct profile *profile;
	thread_id first, end;
	VEC(uint64_t) counts; /* by schema */
	VEC(struct limit) limits; /* likewise */
	VEC(uint64_t) ranks; /* of one schema */
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
}

/* Returns the number of all. */
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

static void limit_schema(struct group *g, schema_id schema, uint64_t share)
{
	if (g->counts.items[schema] <= share)
		return;
	vec_clear(&g->ranks);
	group_each(g, marker)
	{
		if (marker->schema == schema)
			vec_push(&g->ranks, rank(marker));
	}
	g->limits.items[schema] = find_limit(g->ranks.items, g->ranks.count, share);
}

/* Finds limits by schema: floods of one leave room for those that are rare, like kills. */
static void find_limits(struct group *g, uint64_t max)
{
	struct counts sorted = {0};
	uint64_t share;

	vec_for_each(&g->counts, const uint64_t *, count)
		vec_push(&sorted.of, *count);
	share = fair_share(sorted.of.items, sorted.of.count, max);
	vec_release(&sorted.of);
	vec_add_zeroed(&g->limits, g->counts.count);
	for (schema_id id = 0; id < g->counts.count; id++)
		limit_schema(g, id, share);
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

/* Notes the limits: as more markers come, they rise. */
static void keep_floors(struct marker_bounds *b, const struct group *all)
{
	if (b->floors.count < all->limits.count)
		vec_add_zeroed(&b->floors, all->limits.count - b->floors.count);
	for (size_t i = 0; i < all->limits.count; i++) {
		if (all->limits.items[i].rank > b->floors.items[i])
			b->floors.items[i] = all->limits.items[i].rank;
	}
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

bool marker_bounds_admit(struct marker_bounds *b, thread_id thread, const struct marker *marker)
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

/* The schema is in profiles that need it, and in no others. */
static schema_id left_out_schema(struct profile *p)
{
	return schema_text_intern(marker_schema(MARKER_LEFT_OUT), &p->markers.schemas, &p->strings);
}

/* Makes a marker with the number left out. Returns false if there are too many schemas. */
static bool make_told(struct profile *p, uint64_t count, struct marker *marker)
{
	schema_id schema = left_out_schema(p);

	p->stats.left_out_markers += count;
	if (schema == NO_SCHEMA)
		return false;
	*marker = markers_make(&p->markers, schema, p->meta.start_ns, p->meta.end_ns);
	*marker_value(&p->markers, marker, LEFT_OUT_COUNT) = marker_integer((int64_t)count);
	return true;
}

static void tell(struct profile *p, thread_id thread, uint64_t count)
{
	struct profile_thread *row = threads_get(&p->threads, thread);
	struct marker marker;

	if (!make_told(p, count, &marker))
		return;
	marker.start = row->start;
	if (row->end)
		marker.end = row->end;
	vec_push(&row->markers, marker);
}

/* Returns the least number of markers left out that a thread reports itself. */
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
			tell(p, id, of_thread);
		} else {
			count += of_thread;
			threads += of_thread != 0;
		}
	}
	if (!count || !make_told(p, count, others))
		return false;
	*marker_value(&p->markers, others, 1) = marker_integer((int64_t)threads);
	return true;
}
