/* SPDX-License-Identifier: MIT */
/*
 * The line table of one unit: DWARF 2 to 5, "Line Number Information". Leaves out rows that repeat
 * the previous one. The sections are untrusted; the table ends early where they are damaged.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/binary/segments.h"

/* Whole sections; a missing one is empty. */
struct line_sections {
	struct bytes line, line_str, str;
};

struct line_row {
	uint64_t addr;
	uint32_t file; /* index into files; may be out of range */
	uint32_t line; /* 0: unknown */
};

/* Contiguous code; rows by address. */
struct line_sequence {
	uint32_t first_row, row_count;
};

/* Strings belong to the sections. */
struct line_file {
	const char *name; /* NULL: no file with this number */
	uint64_t dir; /* index into dirs */
	const char *path; /* for use by the caller; initially NULL */
};

/* A zeroed struct is empty. */
struct line_table {
	/*
	 * Indexed by the numbers in the table and in entries. Directory 0 is NULL before DWARF 5.
	 */
	VEC(const char *) dirs;
	VEC(struct line_file) files;
	VEC(struct line_row) rows;
	bool wants_discriminators; /* set by the caller: also distinguish rows by discriminator */
	VEC(uint32_t) discriminators; /* by row, if wanted; distinguishes blocks of a line; or 0 */
	VEC(struct line_sequence) sequences;
	struct segments segments; /* address ranges of sequences */
};

/* Reads the table at `offset`. Uses as many steps of the budget as the table has bytes. */
void line_table_read(struct line_table *t, const struct line_sections *sections, uint64_t offset,
		     struct step_budget *budget);
void line_table_release(struct line_table *t);
/* Returns the discriminator of a row of the table, 0 if none are wanted. */
uint32_t line_table_discriminator(const struct line_table *t, const struct line_row *row);
/* Returns the row that covers the address, or NULL. */
const struct line_row *line_table_find(const struct line_table *t, uint64_t addr);
