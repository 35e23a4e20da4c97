/* SPDX-License-Identifier: MIT */
/* Profiles whose runs are compared. Each second of a profile is a run; `at` is its number. */
#pragma once

#include "lib/model/meaning/recording_markers.h"
#include "lib/query/comparison.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const struct comparison_options comparison_by_function;

/* A profile with one thread and no samples. */
struct profile *comparison_profile_new(void);
stack_id comparison_add_stack(struct profile *p, const char *module, const char *function,
			      bool is_inlined);
void comparison_add_weight(struct profile *p, uint32_t at, stack_id stack, uint32_t ms);
/* Start and end are set here. */
void comparison_mark_run(struct profile *p, uint32_t at, struct run_marker run);
/* Compares all runs of two profiles, which must be possible. */
void comparison_of(struct comparison *c, const struct profile *a, const struct profile *b,
		   const struct comparison_options *options);
