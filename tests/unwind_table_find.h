/* SPDX-License-Identifier: MIT */
/*
 * Finds rules in compiled tables for tests. The walker alone reads tables otherwise, in its own
 * memory.
 */
#pragma once

#include "lib/code/unwind/unwind_table.h"

/* Returns the rule that holds at that vaddr, as the walker finds it. */
static inline uint16_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr)
{
	uint64_t page = (vaddr - table->start) >> UNWIND_PAGE_SHIFT;
	uint16_t low = (uint16_t)(vaddr & (UNWIND_PAGE_SIZE - 1));
	uint32_t first, count;

	if (vaddr < table->start || page >= table->page_count)
		return UNWIND_RULE_NONE;
	first = table->index.items[page];
	count = table->index.items[page + 1] - first;
	/*
	 * Counts the page's rows at or below; the row before the page's first holds if there are
	 * none.
	 */
	while (count) {
		uint32_t half = count / 2;

		if (table->rows.items[first + half].pc_low <= low) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return table->rows.items[first - 1].rule;
}
