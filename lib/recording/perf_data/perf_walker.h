/* SPDX-License-Identifier: MIT */
/* Walks stacks that perf copied (--call-graph dwarf) with prof's own tables and walker. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_WALKER_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_WALKER_H

#include "lib/recording/perf_data/perf_modules.h"
#include "lib/recording/perf_data/perf_sample.h"
#include "lib/recording/perf_data/perf_tasks.h"

struct perf_walker;

/* Files come from `modules`, which is borrowed. NULL: no machine that prof can walk stacks of. */
struct perf_walker *perf_walker_new(struct perf_modules *modules, uint16_t machine);
/* NULL is fine. */
void perf_walker_free(struct perf_walker *w);
/* Tells whether the sample has what a walk takes. */
bool perf_walker_can(const struct perf_walker *w, const struct perf_attr *attr,
		     const struct perf_sample *sample);
/*
 * Makes the stack record, without id and time, of a sample: `kernel`, return addresses of the
 * kernel, innermost first, then what the walk finds. `leaf_is_kernel`: the first user frame is part
 * of the stack; else it is the leaf, which *leaf gets. The caller frees.
 */
struct rec_stack *perf_walker_walk(struct perf_walker *w, const struct perf_attr *attr,
				   const struct perf_sample *sample, const uint64_t *kernel,
				   uint16_t kernel_depth, bool leaf_is_kernel,
				   struct perf_process *process, uint64_t *leaf);

#endif
