/* SPDX-License-Identifier: MIT */
/*
 * Short answers to "where did the time go": the hot path, the heaviest functions with the user's
 * function that calls them, and the places where threads were blocked. Origins of code distinguish
 * the user's functions from those of libraries (lib/model/meaning/origin.h).
 */
#pragma once

#include "lib/query/keys.h"
#include "lib/query/table.h"

#define DIGEST_NO_KEY UINT32_MAX

/* A function of the hot path, or of a branch at its end. */
struct hot_step {
	uint32_t key; /* key in digest.keys */
	uint32_t line; /* as in query_row */
	unsigned int depth; /* 0: on the path; 1: a branch; 2: a branch of a branch … */
	uint64_t total;
	bool is_named; /* the function has a name */
};

/*
 * Weight in a module at the end of the hot path, without the branches; of scripts, in a source
 * file.
 */
struct hot_module {
	string_id module; /* string in keys.texts, without its folders; NO_STRING: unknown */
	uint64_t weight;
};

struct heavy_function {
	const struct query_row *row; /* borrowed from the table */
	/* key of the user's function that contributes most of the weight; or DIGEST_NO_KEY */
	uint32_t caller;
	uint32_t caller_line;
};

struct wait_place {
	/*
	 * The user's innermost function, but for those that only wait for others and those without
	 * a name that have a named caller; or else the innermost one.
	 */
	uint32_t key;
	uint32_t line;
	uint32_t caller, caller_line; /* its caller in most of the time; or DIGEST_NO_KEY */
	uint8_t category, subcategory; /* category of the wait */
	uint64_t rank; /* their order; waits for the work of others count half */
	bool is_in_loop; /* a sleep, or a wait for others, for which an event loop stood still */
	uint64_t weight; /* ticks of the clock */
	/*
	 * Waker that ended most of this time: the user's function in the waker's stack, or else the
	 * name of its thread; DIGEST_NO_KEY, NO_STRING: unknown.
	 */
	uint32_t waker, waker_line;
	string_id waker_name; /* of the profile */
};

struct digest {
	struct query_keys keys;
	struct query_table table; /* by function */
	/*
	 * The path begins at the outermost function and continues as long as one callee has more
	 * than half of its caller's weight, and a quarter of the total. If it has not reached the
	 * user's code by then, it continues to the heaviest function of the user, or else of a
	 * package, below its end that has the weight of a branch; from a package only to one that
	 * has half of the weight of the heaviest callee. Steps are functions of the best origin on
	 * the path, each once. If the last of them has no name, those of the best origin after it
	 * follow, up to the last name outside the kernel.
	 *
	 * If a function of that origin has a quarter more weight than the first step, over all
	 * branches, the path begins at that function, whose callers are merged. So it does if the
	 * path is the system's or a runtime's, or there is none, and no single branch has the
	 * weight that is needed to lead on to the user's code, but a function has on all branches.
	 */
	VEC(struct hot_step) steps; /* the path, then the branches in display order */
	uint8_t origin; /* enum origin of the path's functions */
	bool has_callers; /* the path begins at a function that others of the user's call */
	/* The path ends in code of the system or of a runtime, the first function does not. */
	bool is_foreign;
	/*
	 * Functions of that origin that the path passes by; those of the user, if the path is the
	 * system's or a runtime's.
	 */
	VEC(struct hot_step) beside;
	VEC(struct hot_module) modules; /* by descending weight */
	VEC(struct heavy_function) functions; /* the requested number of the table's first rows */
	/*
	 * Places where threads were blocked, by the user's functions, or by all functions if none
	 * is the user's, and sleeps of event loops; those of main threads, too, if they slept
	 * longer than all threads ran or waited for CPUs. By descending rank.
	 */
	VEC(struct wait_place) waits;
	uint64_t blocked; /* weight of all these places */
	/*
	 * The same if nothing ran or was blocked: then the places are those where threads idled.
	 */
	uint64_t idle;
	bool has_waits; /* `with_waits` is valid: the clock's samples have waits */
	struct query with_waits; /* the same selection, with waits */
	stack_id *callers; /* by stack_id: innermost stack of the user's function; or NO_STACK */
};

/*
 * Branches and functions off the path have at least 10 % of the weight. `filter` is the query's,
 * which must outlive the digest.
 */
void digest_make(struct digest *a, const struct query *q, const struct query_filter *filter,
		 enum query_order order, size_t functions);
void digest_release(struct digest *a);
/* Returns the line of the innermost frame; 0: unknown. */
uint32_t digest_line(const struct profile *p, stack_id stack);
/* True if the reason of the waits is that one. */
bool wait_place_is(const struct profile *p, const struct wait_place *place,
		   enum idle_subcategory reason);
/*
 * Returns the last function of the hot path that has a name, other than an outermost one, or else
 * the last; NULL: no path.
 */
const struct hot_step *digest_hottest(const struct digest *a);
/*
 * Returns the innermost function, other than an outermost one, that has nearly all of the hot
 * path's weight, if the next one has much less: a server's slow command, of which the hottest
 * function is a part. NULL: none.
 */
const struct hot_step *digest_whole(const struct digest *a);

/* Finds the functions that hold recorded allocations: at the end, or when most was held. */

struct held_place {
	stack_id stack; /* ends in the user's function that allocated, or else in the innermost */
	stack_id caller; /* the same of its caller; NO_STACK: unknown */
	uint64_t bytes;
};

struct held_memory {
	uint64_t bytes; /* sum of the rows */
	/*
	 * CLOCK_MONOTONIC ns, the first time at which most was held; 0: the end, as little less
	 * was held then.
	 */
	uint64_t time;
	VEC(struct held_place) rows; /* by descending bytes; empty: no allocations were recorded */
};

/*
 * The digest is of a query for the clock's samples, whose threads are selected. Wrappers of
 * allocators do not count as functions that allocate. Released by vec_release(&h->rows).
 */
void held_memory_find(struct held_memory *h, const struct query *q,
		      const struct query_filter *filter, const struct digest *digest);
