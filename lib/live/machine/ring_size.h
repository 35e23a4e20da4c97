/* SPDX-License-Identifier: MIT */
/* The size of a CPU's ring. */
#pragma once

#include "lib/base/base.h"

/*
 * Returns the size in bytes, a power of two of pages: `wish` or, if that is 0, enough for a second
 * of ticks with any stacks. `interval_ns` is the time between ticks; 0: unknown. `machine_cpus` is
 * the number of CPUs if the whole machine is recorded, which may be so busy that the rings are read
 * late; otherwise 0.
 */
uint64_t ring_size(uint64_t wish, uint64_t interval_ns, uint32_t machine_cpus);
