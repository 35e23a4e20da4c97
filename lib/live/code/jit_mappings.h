/* SPDX-License-Identifier: MIT */
/*
 * Which mappings tell of code that processes make: anonymous executable memory, and jitdumps. Perf
 * maps, dumps and roots are looked after from the first of these on.
 */
#ifndef PROF_LIB_LIVE_CODE_JIT_MAPPINGS_H
#define PROF_LIB_LIVE_CODE_JIT_MAPPINGS_H

#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/file_set.h"
#include "lib/base/vec.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/process/process_root.h"

struct jit_mappings {
	const struct file_set *files; /* of the modules; borrowed */
	struct jit_files *jit_files; /* borrowed */
	const struct process_roots *roots; /* borrowed: where sources of made code are */
	VEC(uint32_t) dumps; /* modules that are jitdumps, ascending */
};

void jit_mappings_release(struct jit_mappings *m);
/* Modules come in the order of their numbers, each before what is mapped of it. */
void jit_mappings_module(struct jit_mappings *m, const struct rec_module *module);
void jit_mappings_map(struct jit_mappings *m, struct live_process *process,
		      const struct rec_map *map);

#endif
