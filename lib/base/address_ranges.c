/* SPDX-License-Identifier: MIT */
#include "lib/base/address_ranges.h"

void address_ranges_release(struct address_ranges *r)
{
	vec_release(&r->rows);
}

/* Returns the position after all ranges that begin at or before `addr`. */
static size_t find(const struct address_ranges *r, uint64_t addr)
{
	return vec_count_front(&r->rows, it, it->start <= addr);
}

bool address_ranges_cover(const struct address_ranges *r, uint64_t addr)
{
	size_t at = find(r, addr);

	return at && addr < r->rows.items[at - 1].end;
}

bool address_ranges_add(struct address_ranges *r, uint64_t start, uint64_t end)
{
	size_t at = find(r, start);
	struct address_range *rows;

	if (start >= end || (at && start < r->rows.items[at - 1].end) ||
	    (at < r->rows.count && r->rows.items[at].start < end))
		return false;
	vec_add_zeroed(&r->rows, 1);
	rows = r->rows.items;
	memmove(rows + at + 1, rows + at, (r->rows.count - 1 - at) * sizeof(*rows));
	rows[at] = (struct address_range){start, end};
	return true;
}
