/* SPDX-License-Identifier: MIT */
/* Converts call chains and copied stacks of samples to stack records, each stack once. */
#pragma once

#include "lib/recording/perf_data/perf_attrs.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/recording/perf_data/perf_tasks.h"

/* Maximum number of frames in a chain; perf's default is 127. */
#define PERF_DEPTH_MAX 8192

struct perf_walker;

struct perf_stacks {
	struct perf_out *out; /* borrowed */
	struct perf_walker *walker; /* NULL: there are no copied stacks */
	VEC(uint64_t) sent; /* hashes of stacks; the id of a stack is its index plus 1 */
	struct index by_hash;
	uint64_t *addrs; /* buffer of PERF_DEPTH_MAX */
	uint8_t *kinds;
};

/* A sample's leaf, and the stack without it. */
struct perf_place {
	uint64_t leaf;
	uint32_t stack;
	uint8_t flags; /* set of SAMPLE_LEAF_KERNEL, SAMPLE_NO_STACK and SAMPLE_NO_LEAF */
};

void perf_stacks_init(struct perf_stacks *s, struct perf_out *out);
void perf_stacks_release(struct perf_stacks *s);
/* Prepares to walk copied stacks. machine: e_machine of the recording; 0: this machine's. */
void perf_stacks_walk(struct perf_stacks *s, struct perf_modules *modules, uint16_t machine);
/*
 * Finds a sample's leaf and stack, and sends the stack if it is new. is_kernel: ip is in the
 * kernel.
 */
struct perf_place perf_stacks_place(struct perf_stacks *s, const struct perf_attr *attr,
				    const struct perf_sample *sample, bool is_kernel,
				    struct perf_tasks *tasks);
/* Likewise, for branch `number` of the sample, as described at PERF_BRANCHES. */
struct perf_place perf_stacks_branch(struct perf_stacks *s, const struct perf_sample *sample,
				     uint64_t number);
