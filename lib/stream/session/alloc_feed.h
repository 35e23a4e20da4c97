/* SPDX-License-Identifier: MIT */
/*
 * Joins allocations with their frees. Front-ends hold some 100,000 of them: of more, one stands for
 * two, again and again, so that sums stay as they are on average.
 */
#ifndef PROF_LIB_STREAM_SESSION_ALLOC_FEED_H
#define PROF_LIB_STREAM_SESSION_ALLOC_FEED_H

#include "bpf/record.h"
#include "lib/stream/session/tasks/tasks.h"

/* Rows in a file are up to twice as many: those of frees. */
#define FED_ALLOCS_MAX 250000u

struct fed_alloc {
	process_id process; /* NO_PROCESS: a free row */
	uint64_t address;
	struct allocation allocation;
};

/*
 * A free may come before its allocation, or after the next one of the same address: clocks of CPUs
 * differ a little, and records come late from a CPU whose ring a preempted thread is writing. The
 * last ones without a partner are kept for that.
 */
struct loose_end {
	process_id process; /* NO_PROCESS: it has found its partner */
	uint16_t cpu;
	/* A free of a block that nobody knows; else a block that is held no more, without a free.
	 */
	bool is_free;
	uint64_t address, time;
};

#define LOOSE_ENDS_MAX 256u

struct alloc_feed {
	struct tasks *tasks;
	VEC(struct fed_alloc) rows;
	struct index by_address; /* rows that are held */
	VEC(uint32_t) free_rows;
	VEC(uint32_t) held; /* by process_id: number of rows; those of later ones are 0 */
	uint32_t halvings; /* of new ones, one in 2^halvings is taken */
	struct loose_end loose_ends[LOOSE_ENDS_MAX]; /* a ring */
	uint32_t loose_count; /* so far */
	uint32_t max; /* rows; FED_ALLOCS_MAX but in tests */
	uint64_t random; /* state of a generator */
	bool held_only; /* leave out what was freed */
};

void alloc_feed_init(struct alloc_feed *f, struct tasks *tasks);
void alloc_feed_release(struct alloc_feed *f);

/* Returns the row that alloc_feed_set_stack() must be called for; NO_ALLOC: it is left out. */
#define NO_ALLOC UINT32_MAX
uint32_t alloc_feed_add(struct alloc_feed *f, thread_id thread, const struct rec_alloc *rec);
/* The stack of a row, of that time; NO_STACK: it was lost. */
void alloc_feed_set_stack(struct alloc_feed *f, uint32_t row, uint64_t time, stack_id stack);
void alloc_feed_free(struct alloc_feed *f, const struct rec_free *rec);
/* The process executes another program: nothing is left of what it had. */
void alloc_feed_exec(struct alloc_feed *f, process_id process, uint64_t time);
/* Mark the stacks of allocations, see stacks_mark(); and give them their new ones. */
void alloc_feed_mark_stacks(const struct alloc_feed *f, bool *used);
void alloc_feed_move_stacks(struct alloc_feed *f, const stack_id *map);
/* Gives main threads their allocations, and each process a counter of them. */
void alloc_feed_finish(struct alloc_feed *f);

#endif
