/* SPDX-License-Identifier: MIT */
/* The time range of a profile, for files that do not state it. */
#pragma once

#include "lib/model/tables/profile.h"

struct time_range {
	uint64_t start, end;
};

/*
 * Sets start and end of a profile that was read. If `stated` is NULL, the profile begins with the
 * first sample, marker or allocation and ends with the end of the last one, as in front-ends. Rows
 * with CLOCK_NO_TIME get a time that does not extend the range. Drops an impossible wall-clock
 * start.
 */
void profile_set_range(struct profile *p, const struct time_range *stated);
