/* SPDX-License-Identifier: MIT */
/* The resident memory of the followed processes, read from /proc. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_COUNTERS_PROCESS_MEMORY_H
#define PROF_LIB_LIVE_INSTRUMENTS_COUNTERS_PROCESS_MEMORY_H

#include "lib/live/instruments/counters/counter_values.h"
#include "lib/live/process/live_process.h"

/* Processes that are read at a time; each takes a descriptor. */
#define PROCESS_MEMORY_MAX 100

struct process_memory;

/* Listens to the processes; free them first. The values is borrowed. */
struct process_memory *process_memory_new(struct live_processes *processes,
					  struct counter_values *values);
/* NULL is fine. */
void process_memory_free(struct process_memory *m);
/* Tells the memory of each process at the time `now`. */
void process_memory_read(struct process_memory *m, uint64_t now);

#endif
