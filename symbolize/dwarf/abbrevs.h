/* SPDX-License-Identifier: MIT */
/* A table of abbreviations (DWARF 5, 7.5.3), with the steps of a walk over entries for each. */
#ifndef PROF_SYMBOLIZE_DWARF_ABBREVS_H
#define PROF_SYMBOLIZE_DWARF_ABBREVS_H

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "symbolize/dwarf/step_budget.h"

/* Parameters of the sizes of forms. */
struct die_sizes {
	uint16_t version;
	uint8_t address, offset; /* bytes: 4 or 8 */
};

/* Attributes whose values a walk needs; it skips all others. */
enum die_value { DIE_NO_VALUE, DIE_SIBLING, DIE_LOW_PC, DIE_HIGH_PC, DIE_RANGES };

struct die_step {
	uint8_t value; /* enum die_value */
	uint16_t form; /* DW_FORM_…; 0: `size` bytes to skip */
	uint32_t size;
};

struct abbrev {
	uint64_t code;
	uint32_t first_step, step_count;
	uint16_t tag;
	bool has_children;
};

struct abbrevs {
	const uint8_t *place; /* of the table in its section */
	struct die_sizes sizes;
	VEC(struct abbrev) rows; /* by code */
	VEC(struct die_step) steps;
	bool is_dense; /* codes are 1, 2, 3 … */
};

/*
 * Reads to the end of the table or to the first damage. Takes a step of the budget for each
 * attribute.
 */
struct abbrevs *abbrevs_new(struct bytes table, struct die_sizes sizes, struct step_budget *budget);
/* NULL is fine. */
void abbrevs_free(struct abbrevs *a);
/* NULL: no abbreviation has this code. */
const struct abbrev *abbrevs_find(const struct abbrevs *a, uint64_t code);
/* Bytes of a value of that form; -1: the size depends on the value. */
int form_size(uint64_t form, struct die_sizes sizes);

#endif
