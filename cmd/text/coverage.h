/* SPDX-License-Identifier: MIT */
/* How many frames of each module have names and lines, and why the others have none. */
#ifndef PROF_CMD_TEXT_COVERAGE_H
#define PROF_CMD_TEXT_COVERAGE_H

#include "lib/base/strbuf.h"
#include "lib/profile/profile.h"

#define LINES_UNKNOWN UINT64_MAX

struct module_coverage {
	module_id module; /* NO_MODULE: of no file */
	uint64_t frames; /* places in its code */
	uint64_t named; /* with a real name, neither an address nor fun_<hex> */
	uint64_t with_lines; /* or LINES_UNKNOWN */
};

struct coverage {
	VEC(struct module_coverage) rows; /* modules with frames, those with the most first */
};

/* Of a profile that has been symbolized, or that never will be. */
void coverage_count(struct coverage *n, const struct profile *p);
void coverage_release(struct coverage *n);
/* A table of lines, each with what it begins with. */
void coverage_describe(const struct coverage *n, const struct profile *p, const char *prefix,
		       struct strbuf *out);
/* One line a module of "Show more", in a section of its own. */
void coverage_add_extra(const struct coverage *n, struct profile *p);

#endif
