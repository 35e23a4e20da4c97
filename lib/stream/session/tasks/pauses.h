/* SPDX-License-Identifier: MIT */
/* Pauses of the recording, and their effect on other intervals. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/model/tables/profile.h"

struct pause {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; end UINT64_MAX: not over yet */
};

/* A zeroed struct has no pauses. */
struct pauses {
	VEC(struct pause) rows; /* in order of time */
};

void pauses_release(struct pauses *p);
/* Begins or ends a pause. Returns false if that changes nothing. */
bool pauses_set(struct pauses *p, bool is_paused, uint64_t time);
bool pauses_are_on(const struct pauses *p);
/* Returns when recording last resumed; 0 if it never paused. */
uint64_t pauses_resumed(const struct pauses *p);
/* True if the interval lies within a single pause. */
bool pauses_hide(const struct pauses *p, uint64_t start, uint64_t end);
/* Ends the last pause, and adds all pauses to the profile. */
void pauses_finish(struct pauses *p, struct profile *profile, uint64_t end);
