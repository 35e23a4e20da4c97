/* SPDX-License-Identifier: MIT */
/* Options to record a command several times, or two variants of it alternately. */
#pragma once

#include "cmd/options/option_table.h"

/* Maximum number of runs in total. Each waits as a separate process until it is executed. */
#define ITERATION_RUNS_MAX 1000
#define ITERATION_VARIANTS 8

struct iteration_variant {
	char *name;
	char **argv;
};

struct iteration_options {
	uint32_t min, max; /* number of iterations; if min < max, interim looks decide */
	uint32_t warmup; /* unrecorded runs of each variant at the beginning */
	/* owned; empty for a command without variants */
	struct iteration_variant variants[ITERATION_VARIANTS];
	uint32_t variant_count;
	uint32_t seed; /* seed for the order within each iteration; never 0 after the check */
	bool keep_going; /* continue after a run that fails */
	bool is_used; /* one of the options was given */
};

/* A group with a heading, after an empty line; values are stored in iteration_options. */
extern const struct option_row iteration_options[];

/*
 * Checks combinations and fills in defaults; argv is the command, NULL: none. Call after the last
 * option. Returns 0 or -EINVAL.
 */
int iteration_options_check(struct iteration_options *o, char *const *argv, struct error *err);
/* Returns the command for display: that of the options, or of the first variant. */
char *const *iteration_options_argv(const struct iteration_options *o, char *const *argv);
void iteration_options_release(struct iteration_options *o);
/* Returns the number of interim looks at the result: after min, 2 min … max iterations. */
uint32_t iteration_options_looks(const struct iteration_options *o);
