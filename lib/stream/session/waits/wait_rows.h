/* SPDX-License-Identifier: MIT */
/*
 * Makes rows of a thread's waits. The total weight of the rows is the time that the thread waited:
 * a wait sampled at random represents its length divided by its chance, fitted to the time that the
 * thread was known to be off the CPU.
 *
 * The waits, put end to end, have one random point in each interval. The weight of a wait is the
 * number of points in it: one in a row at its start, the rest in a row at its end. So there are
 * never more rows than intervals, and periodic waits cause no aliasing.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/thread.h"

/* The waits that a sampled wait represents. */
enum wait_group {
	WAIT_COUNTS, /* only the wait itself, with its exact length */
	WAIT_LONG, /* long waits sampled at random: all lengths are known, most stacks are not */
	WAIT_LONG_UNSAMPLED, /* long waits without a stack */
	WAIT_SHORT, /* short waits sampled at random: the others are unknown */
	WAIT_GROUP_COUNT,
};

/* A completed wait, or the part of it in which the thread was queued. */
struct wait_part {
	uint64_t start, length; /* ns */
	stack_id stack; /* stack with the label */
	uint32_t cpu; /* as in struct cpu_reading */
	uint32_t chance; /* as in struct rec_wait */
	uint8_t group; /* enum wait_group */
};

struct wait_rows {
	uint64_t seed;
	uint64_t begin_ns, begin_used_ns; /* time and CPU time at which `parts` begin */
	double position; /* ns waited before `parts` */
	VEC(struct wait_part) parts;
	struct samples rows; /* cpu_delta of the rows is a reading */
};

/* Returns the number of waits that a sampled one represents. */
double wait_part_count(const struct wait_part *part);

/* The clock of the thread must already have a reading. */
struct wait_rows *wait_rows_new(uint64_t seed, const struct cpu_clock *clock);
void wait_rows_free(struct wait_rows *w);
void wait_rows_add(struct wait_rows *w, const struct wait_part *part);
/*
 * Turns the parts into rows. `clock` has the latest reading of the thread's CPU time; a weight of 1
 * represents interval_ns.
 */
void wait_rows_flush(struct wait_rows *w, const struct cpu_clock *clock, uint64_t interval_ns,
		     struct wait_stats *stats);
/* Frees spare room: few further waits are expected, or none. */
void wait_rows_trim(struct wait_rows *w);
/* Moves the rows to those of the thread, in order of time. */
void wait_rows_place(struct wait_rows *w, struct profile_thread *thread);

/* Mark the stacks of parts and rows, see stacks_mark(), and replace them by the new ids. */
void wait_rows_mark_stacks(const struct wait_rows *w, const struct stacks *stacks, bool *used);
void wait_rows_move_stacks(struct wait_rows *w, const stack_id *map);
