/* SPDX-License-Identifier: MIT */
/*
 * Joins the records of a wait: its beginning, its stack, which may arrive later, and its end. They
 * may arrive in any order, and any of them may be lost.
 */
#pragma once

#include "bpf/record.h"
#include "bpf/wait_record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/process/system_calls.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/tasks/thread.h"

/*
 * Makes rows of a thread's waits. The total weight of the rows is the time that the thread waited:
 * a wait sampled at random represents its length divided by its chance, fitted to the time that the
 * thread was known to be off the CPU.
 *
 * The waits, put end to end, have one random point in each interval. The weight of a wait is the
 * number of points in it: one in a row at its start, the rest in a row at its end. So there are
 * never more rows than intervals, and periodic waits cause no aliasing.
 */

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
/* Moves the rows to those of the thread, in order of time. */
void wait_rows_place(struct wait_rows *w, struct profile_thread *thread);

/*
 * Random points along a line, one in each interval. The weight of a piece of the line is the number
 * of points in it: a few pieces represent the whole in proportion to their lengths, without
 * aliasing.
 */

/* Counts the points before a position; interval number k has one of them. */
double points_before(uint64_t seed, double position, double interval);

/*
 * Labels a wait with its reason, as its innermost frame: "[futex]". The label is the name of the
 * system call, and its category the usual reason to wait in that call; wait_frames.h refines it
 * once the kernel's functions have names.
 */

/*
 * Number of calls to cache, including numbers missing from the tables; higher numbers are unknown.
 */
#define WAIT_LABEL_CALLS 512

/* Number of labels whose frames are kept; a wait rarely has one of more than ten. */
#define WAIT_LABEL_FRAMES 64

struct wait_label {
	uint64_t key; /* packs all that decides the label; 0: no frame yet */
	frame_id frame;
};

struct wait_labels {
	struct profile *profile;
	/* Call by table and number, see system_calls.h; valid if `is_known`. */
	const struct system_call *calls[CALLS_TABLE_COUNT][WAIT_LABEL_CALLS];
	bool is_known[CALLS_TABLE_COUNT][WAIT_LABEL_CALLS];
	struct wait_label frames[WAIT_LABEL_FRAMES]; /* by hash of the key */
	struct wait_label queued;
};

/* A wait whose records have not all arrived. */
struct open_wait {
	thread_id thread;
	uint32_t next, previous; /* waits of the same thread, newest first; `next` also links free
				    rows; or NO_WAIT */
	uint64_t start, end;
	uint64_t covered; /* end of the time covered by rows; 0: no row yet */
	/*
	 * Time of the thread's first record after `start` other than the end: the thread was
	 * running again.
	 */
	uint64_t seen;
	uint64_t queued;
	uint32_t cpu, seen_cpu; /* CPU time readings; seen_cpu is valid only if seen_has_cpu */
	uint32_t chance;
	stack_id stack;
	struct wait_reason reason;
	bool has_begin, has_end; /* the REC_WAIT or the REC_RUN has arrived */
	bool awaits_stack, awaits_begin; /* the record is known to be on its way */
	bool is_sampled; /* the wait was sampled at random */
	bool is_kernel_thread;
	bool seen_has_cpu;
};

struct waits {
	struct tasks *tasks;
	struct wait_stats *stats;
	struct wait_labels labels;
	VEC(struct open_wait) rows;
	uint32_t free; /* first free row, NO_WAIT: none */
	size_t parts; /* parts of all threads' waits that are not rows yet */
	uint64_t resumed_ns; /* time at which recording resumed after a pause; 0: no pause */
	uint64_t slow_ns; /* minimum length of waits that become markers; 0: none */
};

void waits_init(struct waits *w, struct tasks *tasks);
void waits_release(struct waits *w);

/*
 * Begins a wait. Returns the row to pass to waits_set_stack(); NO_WAIT if the stack is not needed.
 */
uint32_t waits_begin(struct waits *w, thread_id thread, const struct rec_wait *rec);
/* Sets the stack of a wait; NO_STACK if it was lost. */
void waits_set_stack(struct waits *w, uint32_t row, stack_id stack);
void waits_end(struct waits *w, thread_id thread, const struct rec_resumed *rec);
/* Returns the call in which a thread waits; NULL: none, or unknown. */
const struct system_call *waits_call(struct waits *w, const struct wait_reason *reason);
/* Returns the label of waits of programs. Valid until the next label is made. */
const struct frame *waits_label(struct waits *w, const struct wait_reason *reason);
/* Notes that the thread ran at `time`. cpu: a reading; NULL: none. */
void waits_seen(struct waits *w, thread_id thread, uint64_t time, const uint32_t *cpu);
/* Notes that the thread has ended. */
void waits_exit(struct waits *w, thread_id thread);
/*
 * Notes that recording pauses at `time`: waits end there as far as is known. After the pause, waits
 * that had begun earlier count as new.
 */
void waits_pause(struct waits *w, uint64_t time);
void waits_resume(struct waits *w, uint64_t time);
/*
 * Moves rows of waits up to `time` to the threads, including open waits that are known to be long.
 */
void waits_advance(struct waits *w, uint64_t time);
/* Moves the existing rows of waits to the threads. */
void waits_place(struct waits *w);
/* Returns the number of rows not yet moved to threads. */
size_t waits_row_count(const struct waits *w);
/* Mark the stacks of waits, see stacks_mark(), and replace them by the new ids. */
void waits_mark_stacks(const struct waits *w, bool *used);
void waits_move_stacks(struct waits *w, const stack_id *map);
/* Ends all waits, and moves their rows to the threads. */
void waits_finish(struct waits *w, uint64_t end_ns);
