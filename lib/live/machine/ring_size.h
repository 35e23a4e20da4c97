/* SPDX-License-Identifier: MIT */
/* How large the ring of a CPU is. */
#ifndef PROF_LIB_LIVE_MACHINE_RING_SIZE_H
#define PROF_LIB_LIVE_MACHINE_RING_SIZE_H

#include <stdint.h>

/*
 * Bytes, a power of two of pages: `wish`, or where that is 0 what holds a second of ticks, whatever
 * their stacks. The ticks come at that interval; 0: unknown.
 */
uint64_t ring_size(uint64_t wish, uint64_t interval_ns);

#endif
