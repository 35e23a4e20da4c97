/* SPDX-License-Identifier: MIT */
/* Limits the time spent on damaged files. */
#pragma once

#include "lib/base/base.h"

/* Remaining steps (entries, ranges, lines); initially a multiple of the size of the file. */
struct step_budget {
	uint64_t left;
};

static inline bool step_budget_take(struct step_budget *w, uint64_t steps)
{
	bool is_enough = w->left >= steps;

	w->left = is_enough ? w->left - steps : 0;
	return is_enough;
}
