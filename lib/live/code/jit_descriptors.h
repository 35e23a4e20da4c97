/* SPDX-License-Identifier: MIT */
/*
 * Finds the lists by which processes publish generated code to debuggers: the variables
 * __jit_debug_descriptor of their programs and libraries, by symbol. If no file of a process has
 * one, its variables are searched for data in that form; exactly one place must match.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/live/code/jit_list.h"
#include "lib/live/process/live_process.h"

/* Maximum lists to follow in a process; each library has its own. */
#define JIT_LISTS_MAX 8

struct jit_lists {
	VEC(struct jit_list) rows;
	uint32_t searches; /* number of searches of variables so far */
};

struct jit_descriptors;

/* Listens to the processes; free them first. `files` is borrowed. */
struct jit_descriptors *jit_descriptors_new(struct live_processes *processes,
					    const struct file_set *files);
/* Accepts NULL. */
void jit_descriptors_free(struct jit_descriptors *d);
/* Notes that the process has mapped a file. */
void jit_descriptors_map(struct jit_descriptors *d, struct live_process *process,
			 const struct rec_map *map);
/*
 * Adds the lists of files mapped since the last call. If there is none, searches the process's
 * variables; a program may fill its list late, so the first few calls search as well.
 */
void jit_descriptors_find(struct jit_descriptors *d, struct live_process *process,
			  const struct jit_memory *memory, struct jit_lists *lists);
