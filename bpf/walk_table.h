/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the rule of an address in a table of unwind.h. Part of walk.h: compiled as BPF and
 * natively.
 */
#pragma once

#include <linux/types.h>

#include "bpf/unwind.h"

#define WALK_INLINE static inline __attribute__((always_inline))

/*
 * Bytes of code at a program's entry that count as a root even without CFI. A shared library's
 * entry does not: it is often the address of an ordinary function.
 */
#define WALK_ENTRY_SIZE 128

/* A search for the row of an address in a table. */
struct walk_rows {
	__u32 low; /* offset of the address in its page */
	__u32 first, count; /* candidate rows */
};

/*
 * Begins the search for the row of a vaddr of the mapping. `words` is the shard with its table,
 * `size` the shard's number of words, a power of two. Returns false if there is none.
 */
WALK_INLINE int walk_find_page(const struct unwind_mapping *m, const __u32 *words, __u32 size,
			       __u64 vaddr, struct walk_rows *rows)
{
	__u64 page = (vaddr - m->table_start) >> UNWIND_PAGE_SHIFT;
	__u32 at, first, count;

	if (vaddr < m->table_start || page >= m->page_count)
		return 0;
	at = m->index_at + (__u32)page;
	if (at >= size - 1)
		return 0;
	first = words[at];
	count = words[at + 1] - first;
	/* The row before the page's first one applies up to that one. */
	if (first) {
		first--;
		count++;
	} else if (!count) {
		return 0;
	}
	rows->low = vaddr & (UNWIND_PAGE_SIZE - 1);
	rows->first = first;
	rows->count = count;
	return 1;
}

/* Enough turns for one row per byte of a page plus the row before. */
#define WALK_HALVINGS (UNWIND_PAGE_SHIFT + 1)

/* Halves the candidate rows. */
WALK_INLINE void walk_halve_rows(const struct unwind_mapping *m, const __u32 *words, __u32 size,
				 struct walk_rows *rows)
{
	__u32 half = rows->count / 2;
	/* Never reads the row before the page, whose pc_low belongs to another page. */
	__u32 pc_low = words[(m->rows_at + rows->first + half) & (size - 1)] & 0xffff;

	if (pc_low <= rows->low)
		rows->first += half;
	rows->count -= half;
}

/* Returns the number of the rule found by the search. */
WALK_INLINE __u32 walk_rule_of(const struct unwind_mapping *m, const __u32 *words, __u32 size,
			       const struct walk_rows *rows)
{
	return words[(m->rows_at + rows->first) & (size - 1)] >> 16;
}

/* Returns the number of the rule for a vaddr of the mapping; see walk_find_page(). */
WALK_INLINE __u32 walk_find_rule(const struct unwind_mapping *m, const __u32 *words, __u32 size,
				 __u64 vaddr)
{
	struct walk_rows rows;

	if (!walk_find_page(m, words, size, vaddr, &rows))
		return UNWIND_RULE_NONE;
	for (int i = 0; i < WALK_HALVINGS && rows.count > 1; i++)
		walk_halve_rows(m, words, size, &rows);
	return walk_rule_of(m, words, size, &rows);
}

/* Returns whether the vaddr is a root by itself. `number` is the result of walk_find_rule(). */
WALK_INLINE int walk_is_entry(const struct unwind_mapping *m, __u32 number, __u64 vaddr)
{
	return number == UNWIND_RULE_NONE && m->entry && vaddr - m->entry < WALK_ENTRY_SIZE;
}
