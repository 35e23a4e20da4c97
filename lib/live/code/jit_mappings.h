/* SPDX-License-Identifier: MIT */
/*
 * Finds the mappings that indicate generated code: anonymous executable memory, and jitdumps. Perf
 * maps, dumps and roots are followed from the first of these on. Also finds mapped marker files.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/live/code/jit_descriptors.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/code/span_files.h"
#include "lib/live/process/process_root.h"

struct mapped_spans {
	uint32_t module_id;
	uint32_t pid, tid; /* ids in the file name */
};

struct jit_mappings {
	const struct file_set *files; /* open files by module; borrowed */
	struct jit_files *jit_files; /* borrowed */
	struct jit_descriptors *descriptors; /* borrowed */
	const struct process_roots *roots; /* borrowed; used to find sources of generated code */
	struct span_files *span_files; /* borrowed */
	VEC(uint32_t) dumps; /* module ids of jitdumps, ascending */
	VEC(struct mapped_spans) spans; /* marker files by module id, ascending */
};

void jit_mappings_release(struct jit_mappings *m);
/* Handles modules in the order of their ids, each before its mappings. */
void jit_mappings_module(struct jit_mappings *m, const struct rec_module *module);
void jit_mappings_map(struct jit_mappings *m, struct live_process *process,
		      const struct rec_map *map);
