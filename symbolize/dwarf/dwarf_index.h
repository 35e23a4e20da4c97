/* SPDX-License-Identifier: MIT */
/*
 * .debug_aranges (DWARF 5, 6.1.2): the code ranges of units. Not all compilers write it, and one
 * file may contain units of several compilers.
 */
#pragma once

#include "lib/code/binary/debug_sections.h"
#include "lib/code/binary/step_budget.h"
#include "lib/code/binary/segments.h"

/*
 * If several units claim the same code, it belongs to the first: inline functions are compiled with
 * each unit that uses them; linkers keep the first copy and make the entries of all others refer to
 * it.
 */
#define UNIT_RANK(number) (UINT32_MAX - (uint32_t)(number))

struct aranges {
	VEC(uint64_t) units; /* offsets of units in .debug_info, ascending */
	struct intervals ranges; /* range ids are indexes of `units` */
};

/* Skips damaged sets and forms that no supported machine uses. */
void aranges_read(struct aranges *a, const struct debug_section *section,
		  struct step_budget *budget);
void aranges_release(struct aranges *a);
