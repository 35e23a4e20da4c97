/* SPDX-License-Identifier: MIT */
/*
 * Joins allocations with their frees. Front-ends can hold some 100,000 allocations. Beyond that,
 * the sampling rate is halved repeatedly and weights are doubled, so that sums stay the same on
 * average.
 */
#pragma once

#include "bpf/record.h"
#include "lib/stream/session/tasks/tasks.h"

/* A file has up to twice as many rows, including frees. */
#define FED_ALLOCS_MAX 250000u

struct fed_alloc {
	process_id process; /* NO_PROCESS: free row */
	uint64_t address;
	struct allocation allocation;
};

/*
 * A free may arrive before its allocation, or after the next allocation at the same address: CPUs'
 * clocks differ a little, and a preempted thread that is writing to a ring delays that CPU's
 * records. Therefore the last unmatched frees and blocks are kept.
 */
struct loose_end {
	process_id process; /* NO_PROCESS: already matched */
	uint16_t cpu;
	/* A free of an unknown block; otherwise a block that ended without a free. */
	bool is_free;
	uint64_t address, time;
};

#define LOOSE_ENDS_MAX 256u

struct alloc_feed {
	struct tasks *tasks;
	VEC(struct fed_alloc) rows;
	struct index by_address; /* rows of held blocks */
	VEC(uint32_t) free_rows;
	VEC(uint32_t) held; /* number of rows by process_id; missing entries are 0 */
	uint32_t halvings; /* only one in 2^halvings new allocations is taken */
	struct loose_end loose_ends[LOOSE_ENDS_MAX]; /* ring buffer */
	uint32_t loose_count; /* number of loose ends so far */
	uint32_t max; /* maximum number of rows; FED_ALLOCS_MAX except in tests */
	uint64_t random; /* state of the random number generator */
	bool held_only; /* leave out blocks that were freed */
};

void alloc_feed_init(struct alloc_feed *f, struct tasks *tasks);
void alloc_feed_release(struct alloc_feed *f);

/* Returns the row to pass to alloc_feed_set_stack(); NO_ALLOC if the allocation is left out. */
#define NO_ALLOC UINT32_MAX
uint32_t alloc_feed_add(struct alloc_feed *f, thread_id thread, const struct rec_alloc *rec);
/* Sets the stack of a row of that time; NO_STACK if it was lost. */
void alloc_feed_set_stack(struct alloc_feed *f, uint32_t row, uint64_t time, stack_id stack);
void alloc_feed_free(struct alloc_feed *f, const struct rec_free *rec);
/* Handles an exec of the process, which frees all its memory. */
void alloc_feed_exec(struct alloc_feed *f, process_id process, uint64_t time);
/* Mark the stacks of allocations, see stacks_mark(), and replace them by the new ids. */
void alloc_feed_mark_stacks(const struct alloc_feed *f, bool *used);
void alloc_feed_move_stacks(struct alloc_feed *f, const stack_id *map);
/* Adds the allocations to main threads, and a counter of allocated memory to each process. */
void alloc_feed_finish(struct alloc_feed *f);
