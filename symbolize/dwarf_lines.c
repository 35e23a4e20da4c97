/* SPDX-License-Identifier: MIT */
/* The line table of a unit, copied out of libdw's records once for fast and simple search. */
#include "symbolize/debug_info.h"

static struct line_row copy_row(Dwarf_Line *line)
{
	struct line_row row = {.file = dwarf_linesrc(line, NULL, NULL)};
	Dwarf_Addr addr = 0;
	int number = 0;

	dwarf_lineaddr(line, &addr);
	dwarf_lineno(line, &number);
	dwarf_lineendsequence(line, &row.is_end);
	row.addr = addr;
	row.line = number > 0 ? (uint32_t)number : 0;
	return row;
}

void line_table_build(struct line_table *t, Dwarf_Die *unit, struct work *work)
{
	Dwarf_Lines *lines;
	size_t count;

	/* libdw sorts them: by address, ends of sequences before what starts there. */
	if (dwarf_getsrclines(unit, &lines, &count) != 0 || !work_take(work, count))
		return;
	vec_reserve(&t->rows, count);
	for (size_t i = 0; i < count; i++)
		vec_push(&t->rows, copy_row(dwarf_onesrcline(lines, i)));
}

void line_table_release(struct line_table *t)
{
	vec_release(&t->rows);
}

const struct line_row *line_table_find(const struct line_table *t, uint64_t addr)
{
	size_t low = 0, high = t->rows.count;

	/* The last of several rows for one address is the one that holds from there on. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->rows.items[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || t->rows.items[low - 1].is_end)
		return NULL;
	return &t->rows.items[low - 1];
}
