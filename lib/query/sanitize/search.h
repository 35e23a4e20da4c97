/* SPDX-License-Identifier: MIT */
/* Checks a profile before publication for anything that identifies its user or machine. */
#pragma once

#include "lib/query/sanitize/sanitize.h"

struct sanitize_finding {
	const char *what; /* "the name of a user", … */
	char *text; /* text of the finding; owned */
};

struct sanitize_findings {
	VEC(struct sanitize_finding) rows;
};

void sanitize_findings_release(struct sanitize_findings *f);
/*
 * Searches all strings of `p` for the user, the host and the home folder of the options, for paths
 * outside of the system's folders, and for the arguments of the processes of `from`, which may be
 * `p`. Ignores arguments that are options or names of programs; searches those without a slash only
 * outside of the names of code. Stops at `max` findings.
 */
void sanitize_search(struct sanitize_findings *f, const struct profile *p,
		     const struct profile *from, const struct sanitize_options *options,
		     size_t max);
