/* SPDX-License-Identifier: MIT */
/* Clocks, in nanoseconds. */
#ifndef PROF_LIB_BASE_CLOCK_H
#define PROF_LIB_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
/* CPU time of this process so far, all threads, user and system. */
uint64_t clock_process_cpu_ns(void);
/* CPU time of this thread so far. */
uint64_t clock_thread_cpu_ns(void);

#endif
