/* SPDX-License-Identifier: MIT */
/*
 * For how long CPUs had nothing to do, by the kernel's own account. The clock does not tick then: a
 * CPU without a timer interrupt would be throttled after some hundred ticks, and not be sampled
 * when it has something to do again.
 */
#ifndef PROF_LIB_LIVE_BPF_IDLE_TIME_H
#define PROF_LIB_LIVE_BPF_IDLE_TIME_H

#include <stdint.h>

#include "lib/live/machine/cpu_list.h"

/* In ns since the machine was started, over these CPUs, or over all where there is none; 0:
 * unknown. */
uint64_t idle_time_read(const struct cpu_list *only);
/* The same by the text of /proc/stat, whose unit is so long. */
uint64_t idle_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns);

#endif
