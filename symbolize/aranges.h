/* SPDX-License-Identifier: MIT */
/*
 * .debug_aranges (DWARF 5, 6.1.2): which unit has code where, as far as compilers have said. Not
 * all say it, and a file may have units of several.
 */
#ifndef PROF_SYMBOLIZE_ARANGES_H
#define PROF_SYMBOLIZE_ARANGES_H

#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/binary/debug_sections.h"
#include "symbolize/segments.h"
#include "symbolize/work.h"

struct aranges {
	VEC(uint64_t) units; /* where each begins in .debug_info; ascending */
	struct intervals ranges; /* their ids are numbers in `units` */
};

/* What is damaged, or in a form of no machine of ours, is left out. */
void aranges_read(struct aranges *a, const struct debug_section *section, struct work *work);
void aranges_release(struct aranges *a);

#endif
