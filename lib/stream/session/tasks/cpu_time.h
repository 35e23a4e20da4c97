/* SPDX-License-Identifier: MIT */
/*
 * The CPU time of a thread, from the readings that its records have. Rows of a thread keep the
 * reading of their time until all are there; then each gets what was used since the row before.
 */
#ifndef PROF_LIB_STREAM_SESSION_TASKS_CPU_TIME_H
#define PROF_LIB_STREAM_SESSION_TASKS_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/tables/threads.h"

/* CPU time in units of 16 ns; it wraps around. */
struct cpu_reading {
	uint64_t time;
	uint32_t cpu;
};

/* A zeroed one has no reading yet. */
struct cpu_clock {
	struct cpu_reading first, last; /* by time */
	uint64_t used_ns; /* between the two */
	uint32_t base; /* of the wire's values: the thread may take over another's clock */
	bool is_known;
	bool is_replaced; /* the next reading is the first of another clock */
};

/* Tells that the thread began at `time`, without any CPU time. */
void cpu_clock_begin(struct cpu_clock *c, uint64_t time);
/* Tells that the thread takes over the clock of another one, which may go on from any value. */
void cpu_clock_replace(struct cpu_clock *c);
/* Lets the wire's next value, this one, mean that at most `max_ns` were used since the last one. */
void cpu_clock_limit(struct cpu_clock *c, uint32_t wire, uint64_t max_ns);
/* Takes the wire's value at `time`. Returns the reading to keep in a row. */
uint32_t cpu_clock_read(struct cpu_clock *c, uint64_t time, uint32_t wire);

/*
 * Turns the readings in cpu_delta of the thread's rows, all in order of time, into differences, at
 * most the time that passed. Adds a row without stack and weight for CPU time before the first row
 * and after the last one, so that the sum is all that was used between the clock's readings.
 */
void cpu_clock_settle(const struct cpu_clock *c, struct profile_thread *row);

#endif
