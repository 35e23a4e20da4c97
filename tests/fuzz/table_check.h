/* SPDX-License-Identifier: MIT */
/* Properties of every unwind table, which the walker relies on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/code/unwind/unwind_table.h"
#include "tests/fuzz/input.h"
#include "tests/unwind_table_find.h"

static inline void check_page(const struct unwind_table *table, const struct unwind_rules *rules,
			      uint32_t page)
{
	uint32_t first = table->index.items[page], end = table->index.items[page + 1];

	require(first <= end && end <= table->rows.count);
	for (uint32_t i = first; i < end; i++) {
		const struct unwind_row *row = &table->rows.items[i];

		require(row->rule < rules->rows.count && row->pc_low < UNWIND_PAGE_SIZE);
		require(i == first || row->pc_low > row[-1].pc_low);
		require(unwind_table_find(table, table->start + (uint64_t)page * UNWIND_PAGE_SIZE +
							 row->pc_low) == row->rule);
	}
}

static inline void check_rule(const struct unwind_rule *rule)
{
	require(rule->cfa_kind <= UNWIND_CFA_LAST);
	if (rule->cfa_kind <= UNWIND_CFA_END)
		return;
	require(rule->cfa_reg < UNWIND_REG_OTHER + 32);
	require(UNWIND_RA_KIND(rule->kinds) != UNWIND_UNKNOWN);
	require(UNWIND_AT_REG_BASE(rule->kinds) <= UNWIND_AT_REG_LAST);
}

/* `size` is the input's: a table has at most as many rows as that, apart from stubs. */
static inline void check_table(const struct unwind_table *table, const struct unwind_rules *rules,
			       size_t size)
{
	require(table->stats.rows == table->rows.count);
	require(table->rows.count <= 2 * size + 16);
	require(table->start % UNWIND_PAGE_SIZE == 0);
	if (!table->page_count) {
		require(!table->rows.count);
		return;
	}
	require(table->index.count == table->page_count + 1u);
	require(table->index.items[0] == 0 && table->rows.items[0].pc_low == 0);
	require(table->index.items[table->page_count] == table->rows.count);
	for (uint32_t page = 0; page < table->page_count; page++)
		check_page(table, rules, page);
	vec_for_each(&rules->rows, const struct unwind_rule *, rule)
		check_rule(rule);
}
