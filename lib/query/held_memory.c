/* SPDX-License-Identifier: MIT */
#include "lib/query/digest.h"

/* If less than this share of the peak is held at the end, the peak is shown instead. */
#define HELD_MIN 0.8

struct holder {
	struct held_memory *h;
	const struct query *q;
	const struct digest *digest;
	const bool *threads; /* by thread_id */
};

/* A change of the memory held by all processes. */
struct held_change {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t bytes;
	bool is_free;
};

/* Frees come last: none is of a block that is not counted yet. */
ORDER(compare_changes, struct held_change,
      COMPARE(a->time, b->time) ?: COMPARE(a->is_free, b->is_free))

/* Sets the time at which most was held, or 0. */
static void find_time(const struct holder *f)
{
	const struct profile *p = f->q->profile;
	VEC(struct held_change) changes = {0};
	uint64_t held = 0, most = 0;

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		vec_for_each(&p->threads.rows.items[id].allocations.rows, const struct allocation *,
			     row) {
			if (!f->threads[id])
				break;
			vec_push(&changes, ((struct held_change){row->time, row->bytes, false}));
			if (row->freed)
				vec_push(&changes,
					 ((struct held_change){row->freed, row->bytes, true}));
		}
	}
	vec_sort(&changes, compare_changes);
	vec_for_each(&changes, const struct held_change *, change) {
		held += change->is_free ? -change->bytes : change->bytes;
		if (held <= most)
			continue;
		most = held;
		f->h->time = change->time;
	}
	if ((double)held >= HELD_MIN * (double)most)
		f->h->time = 0;
	vec_release(&changes);
}

/* Returns the user's innermost function around a stack; NO_STACK if there is none. */
static stack_id user_of(const struct holder *f, stack_id id)
{
	return id == NO_STACK ? NO_STACK : f->digest->callers[id];
}

static uint32_t key_of(const struct holder *f, stack_id id)
{
	return f->digest->keys.of_stacks[id];
}

/* True for functions such as xmalloc(), zrealloc(), makeAllocation() and xstrdup(). */
static bool is_wrapper(const struct holder *f, stack_id id)
{
	const struct query_keys *keys = &f->digest->keys;
	const char *name = query_keys_text(keys, keys->rows.items[key_of(f, id)].function);

	return strcasestr(name, "alloc") || strstr(name, "strdup");
}

/* Returns the next outer function of the user's with another key. */
static stack_id caller_of(const struct holder *f, stack_id id)
{
	stack_id at = id;

	do
		at = user_of(f, f->q->parents[at]);
	while (at != NO_STACK && key_of(f, at) == key_of(f, id));
	return at;
}

static stack_id place_of(const struct holder *f, stack_id id)
{
	stack_id user = user_of(f, id), at = user;

	while (at != NO_STACK && is_wrapper(f, at))
		at = caller_of(f, at);
	if (at != NO_STACK)
		return at;
	return user == NO_STACK ? id : user;
}

ORDER(compare_places, struct held_place, COMPARE(b->bytes, a->bytes) ?: COMPARE(a->stack, b->stack))

/* Sums up the weights of stacks by their functions; a function has its heaviest stack. */
static void add_places(const struct holder *f, const uint64_t *weights)
{
	_cleanup_free_ uint32_t *rows = xcalloc(f->digest->keys.rows.count + 1, sizeof(*rows));
	_cleanup_free_ uint64_t *most = xcalloc(f->digest->keys.rows.count + 1, sizeof(*most));
	struct held_memory *h = f->h;

	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		stack_id at = weights[id] ? place_of(f, id) : NO_STACK;
		uint32_t key;

		if (at == NO_STACK)
			continue;
		key = key_of(f, at);
		if (!rows[key]) {
			vec_push(&h->rows, ((struct held_place){at, NO_STACK, 0}));
			rows[key] = (uint32_t)h->rows.count;
		}
		h->rows.items[rows[key] - 1].bytes += weights[id];
		h->bytes += weights[id];
		if (weights[id] <= most[key])
			continue;
		most[key] = weights[id];
		h->rows.items[rows[key] - 1].stack = at;
	}
	vec_for_each(&h->rows, struct held_place *, row)
		row->caller = caller_of(f, row->stack);
	vec_sort(&h->rows, compare_places);
}

void held_memory_find(struct held_memory *h, const struct query *q,
		      const struct query_filter *filter, const struct digest *digest)
{
	const struct profile *p = q->profile;
	_cleanup_free_ bool *threads = query_select_threads(p, filter);
	_cleanup_free_ uint64_t *weights = xcalloc(p->stacks.rows.count + 1, sizeof(*weights));
	const struct holder f = {h, q, digest, threads};
	bool has_any = false;

	*h = (struct held_memory){0};
	find_time(&f);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		vec_for_each(&p->threads.rows.items[id].allocations.rows, const struct allocation *,
			     row) {
			bool is_held = h->time ? row->time <= h->time &&
							 (!row->freed || row->freed > h->time)
					       : !row->freed;

			if (!threads[id] || !is_held || row->stack == NO_STACK)
				continue;
			weights[row->stack] += row->bytes;
			has_any = true;
		}
	}
	if (has_any)
		add_places(&f, weights);
}
