/* SPDX-License-Identifier: MIT */
/*
 * Shares of functions in the stretches of running time of a replay. A stretch with few samples gets
 * the share of all stretches that threads of that name begin and end in the same way, otherwise
 * that of all their samples.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_replay.h"

/* A sample of a stretch. */
struct op_sample {
	uint32_t op;
	uint32_t weight;
	stack_id stack;
};

struct path_shares {
	const struct profile *p;
	const struct replay *replay;
	VEC(struct op_sample) samples;
	uint32_t *classes; /* by op */
	uint32_t *groups; /* by op: the name of the thread */
	uint32_t class_count;
};

/* The caller releases it, and keeps both until then. */
void path_shares_init(struct path_shares *s, const struct profile *p, const struct replay *r);
void path_shares_release(struct path_shares *s);
/*
 * Returns the factor of each op's running time if functions with this name take `factor` of their
 * time, with all that they call. The caller frees it.
 */
float *path_shares_factors(const struct path_shares *s, const char *function, double factor);
