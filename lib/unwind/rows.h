/* SPDX-License-Identifier: MIT */
/* Builds the rows, pages and rules of one table, in order of address. */
#ifndef PROF_LIB_UNWIND_ROWS_H
#define PROF_LIB_UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/rule_words.h"
#include "lib/unwind/unwind_table.h"

/* A table beyond one of these is refused: far above all real files, and what memory can bear. */
#define ROWS_MAX (16u << 20)
#define ROWS_MAX_PAGES (2u << 20) /* from the first row to the last: 2 GB */
/* What may lie between the parts of a program's code without being code. */
#define ROWS_MAX_GAP_PAGES (64u << 10)
/* One file cannot use up the rules of all others; all files of a machine have some 4,000. */
#define ROWS_MAX_NEW_RULES 8192

#define ROWS_RECENT_BITS 9

struct rows_recent {
	struct rule_words rule;
	uint16_t id; /* UNWIND_RULE_NONE: empty */
} __attribute__((aligned(32)));

struct rows {
	struct unwind_table *table;
	struct unwind_rules *rules;
	struct unwind_row *next, *full; /* where the next row goes; where there is no room for it */
	uint64_t page_end; /* vaddr of the end of the last page that has been begun */
	uint32_t max_pages;
	uint32_t rules_left; /* how many new ones this table may still bring */
	uint32_t last_rule; /* UINT32_MAX: there is no row yet */
	bool overflowed; /* a limit was met: the table is not complete */
	struct rows_recent recent[1 << ROWS_RECENT_BITS];
};

/*
 * Rules and table are borrowed; the table must be empty, but may have room. Its rows are not
 * complete before rows_finish(). There are code_size bytes of code.
 */
void rows_init(struct rows *rows, struct unwind_table *table, struct unwind_rules *rules,
	       uint64_t code_size);
/* For rows_rule() and rows_add(): the number of a rule that is not among the recent ones. */
uint16_t rows_intern(struct rows *rows, struct rule_words rule, struct rows_recent *recent);
/* For rows_add(): begins the page of that vaddr, and those before; false where a limit is met. */
bool rows_begin_page(struct rows *rows, uint64_t vaddr);
/* For rows_add(): room for one more. */
void rows_grow(struct rows *rows);
/* No row reaches beyond this vaddr, that of the last row at least. */
void rows_finish(struct rows *rows, uint64_t end);

/* The number of that rule; UNWIND_RULE_NONE where there are too many. */
static inline uint16_t rows_rule(struct rows *rows, struct rule_words rule)
{
	uint64_t hash = (rule.low ^ rule.high * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
	struct rows_recent *recent = &rows->recent[hash >> (64 - ROWS_RECENT_BITS)];

	/* An empty one is the rule of that number: UNWIND_RULE_NONE. */
	if (recent->rule.low == rule.low && recent->rule.high == rule.high)
		return recent->id;
	return rows_intern(rows, rule, recent);
}

/* From this vaddr on, that rule holds; vaddr must be above that of the row before. */
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

#endif
