/* SPDX-License-Identifier: MIT */
/* Copies rows of one profile into another, each on its first use. */
#pragma once

#include "lib/query/select.h"

struct row_copier;

/* Both profiles are borrowed. */
struct row_copier *row_copier_new(struct profile *into, const struct profile *from);
void row_copier_free(struct row_copier *c);

/* Copies all modules in order. The new profile must not have modules yet. */
void row_copier_modules(struct row_copier *c);
/* Copies a frame unchanged. Neither profile may have categories of its own. */
frame_id row_copier_frame(struct row_copier *c, frame_id id);
/*
 * Copies the shown frames of all used stacks, with the query's categories. Returns new ids by old,
 * NO_STACK for other stacks; the caller frees them. Marks the callers of these stacks in is_used.
 */
stack_id *row_copier_stacks(struct row_copier *c, const struct query *q, bool *is_used);

/* Ticks of a profile that joins others. */
struct joined_ticks {
	uint64_t interval_ns, sample_ticks; /* as in struct profile_meta */
};

/*
 * Finds the interval of a profile that joins others: the shortest one. Returns -EXDEV if intervals
 * differ, and the samples of more than one are not times that passed: ticks of different clocks
 * cannot be added.
 */
int row_join_ticks(struct joined_ticks *ticks, const struct profile *const *profiles, size_t count,
		   struct error *err);

/* Converts ticks of one profile to those of the joined one. The rest goes to the next sample. */
struct tick_scale {
	uint64_t from_ns, into_ns; /* intervals */
	uint64_t rest_ns;
};

struct tick_scale row_tick_scale(const struct joined_ticks *into, const struct profile *from);
/* At most UINT32_MAX. */
uint32_t row_scale_ticks(struct tick_scale *s, uint32_t ticks);

/*
 * Copies properties of the whole recording: always the end; others from the first profile only;
 * lines about the recording only if there is a single profile.
 */
void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone);

/*
 * Makes a profile of the samples that a filter keeps, without data of any other samples. Merges
 * several profiles by wall clock.
 */

struct narrow_counts {
	/* markers dropped because their schema means something else in another profile */
	uint64_t lost_markers;
};

/*
 * Makes a new profile of `count` profiles; the caller frees it. A pid that occurs in several
 * profiles is numbered as if it had been reused. Keeps counters unless the filter selects processes
 * or threads. Returns -ENOENT or -EINVAL like query_select(), or -EXDEV like
 * row_join_ticks().
 */
int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err);
