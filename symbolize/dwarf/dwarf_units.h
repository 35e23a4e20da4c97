/* SPDX-License-Identifier: MIT */
/*
 * Address range lists of split units, whose base address and address table are in another file:
 * DWARF 5 §7.25, for older units DWARF 4 §2.17.3.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/binary/debug_sections.h"

/* Parameters of all lists of one unit. */
struct range_source {
	const struct debug_view *view; /* its .debug_addr begins with the unit's first address */
	uint64_t base; /* base address of the unit */
	uint16_t version;
	uint8_t address_size, offset_size;
};

struct range_list {
	const struct range_source *source;
	struct bytes at;
	uint64_t base;
};

/* Opens a list by offset in .debug_ranges or .debug_rnglists. */
void range_list_open(struct range_list *l, const struct range_source *source, uint64_t offset);
/* Opens a list by number (DW_FORM_rnglistx). */
void range_list_open_number(struct range_list *l, const struct range_source *source,
			    uint64_t number);
/* Returns false at the end, or if the list is damaged. Also returns empty ranges. */
bool range_list_next(struct range_list *l, uint64_t *start, uint64_t *end);

/*
 * Finds the parts of a package's sections (.dwp) that belong to one split unit: .debug_cu_index
 * (DWARF 5, 7.3.5.3) and GNU's form of it for DWARF 4.
 */

/*
 * Views the package as the unit's own file: each section reduced to the unit's part, strings whole.
 * False if the index is damaged or lists no unit of that id.
 */
bool unit_index_find(const struct debug_view *package, uint64_t unit_id, struct debug_view *unit);
