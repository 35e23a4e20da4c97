/* SPDX-License-Identifier: MIT */
/*
 * Shares of functions in a replay's stretches of running time. For a stretch with few samples, uses
 * all stretches that threads of the same name begin and end in the same way, or else all samples of
 * these threads.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_replay.h"

/* A sample in a stretch. */
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
	uint32_t *groups; /* by op: name of the thread */
	uint32_t class_count;
};

/* The caller releases `s`; `p` and the replay must live as long. */
void path_shares_init(struct path_shares *s, const struct profile *p, const struct replay *r);
void path_shares_release(struct path_shares *s);
/*
 * Returns a factor for each op's running time if functions of this name take `factor` of their
 * time, callees included. The caller frees it.
 */
float *path_shares_factors(const struct path_shares *s, const char *function, double factor);
