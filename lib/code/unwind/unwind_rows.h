/* SPDX-License-Identifier: MIT */
/* Builds the rows, pages and rules of one table, in order of address. */
#pragma once

#include "lib/code/unwind/rule_words.h"
#include "lib/code/unwind/unwind_table.h"

/* Larger tables are refused. The limits are far above all real files, and affordable in memory. */
#define ROWS_MAX (16u << 20)
#define ROWS_MAX_PAGES (2u << 20) /* from the first row to the last: 2 GB of code */
/* Maximum gap between the parts of a program's code. */
#define ROWS_MAX_GAP_PAGES (64u << 10)
/*
 * Maximum rules from one file, so that it cannot exhaust them; all files of a machine need some
 * 4,000.
 */
#define ROWS_MAX_NEW_RULES 8192

#define ROWS_RECENT_BITS 9

struct rows_recent {
	struct rule_words rule;
	uint16_t id; /* UNWIND_RULE_NONE: empty */
} __attribute__((aligned(32)));

struct rows {
	struct unwind_table *table;
	struct unwind_rules *rules;
	struct unwind_row *next, *full; /* location of the next row; end of the room */
	uint64_t page_end; /* vaddr of the end of the last page begun */
	uint32_t max_pages;
	uint32_t rules_left; /* new rules this table may still add */
	uint32_t last_rule; /* UINT32_MAX: no row yet */
	bool overflowed; /* a limit was reached: the table is incomplete */
	uint16_t mutator; /* rule of Haskell's code; UNWIND_RULE_NONE: there is none */
	struct rows_recent recent[1 << ROWS_RECENT_BITS];
};

/*
 * Borrows rules and table. The table must be empty, but may have capacity. Its rows are complete
 * only after rows_finish(). `code_size` is in bytes.
 */
void rows_init(struct rows *rows, struct unwind_table *table, struct unwind_rules *rules,
	       uint64_t code_size);
/* For rows_rule(): returns the number of a rule missing in `recent`. */
uint16_t rows_intern(struct rows *rows, struct rule_words rule, struct rows_recent *recent);
/* For rows_add(): begins the pages up to that of vaddr. Returns false if a limit is reached. */
bool rows_begin_page(struct rows *rows, uint64_t vaddr);
/* For rows_add(): makes room for one more. */
void rows_grow(struct rows *rows);
/* Ends the table at a vaddr, not below that of the last row. */
void rows_finish(struct rows *rows, uint64_t end);

/* Returns the number of a rule; UNWIND_RULE_NONE if there are too many. */
static inline uint16_t rows_rule(struct rows *rows, struct rule_words rule)
{
	uint64_t hash = (rule.low ^ rule.high * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
	struct rows_recent *recent = &rows->recent[hash >> (64 - ROWS_RECENT_BITS)];

	/* An empty slot equals the rule UNWIND_RULE_NONE, so it needs no test. */
	if (recent->rule.low == rule.low && recent->rule.high == rule.high)
		return recent->id;
	return rows_intern(rows, rule, recent);
}

/* Adds a row: the rule applies from vaddr on, which must be above that of the previous row. */
static inline void rows_add(struct rows *rows, uint64_t vaddr, uint16_t rule)
{
	if (rule == rows->last_rule)
		return;
	if (vaddr >= rows->page_end && !rows_begin_page(rows, vaddr))
		return;
	if (rows->next == rows->full)
		rows_grow(rows);
	*rows->next++ = (struct unwind_row){.pc_low = (uint16_t)(vaddr & (UNWIND_PAGE_SIZE - 1)),
					    .rule = rule};
	rows->last_rule = rule;
}
