/* SPDX-License-Identifier: MIT */
/*
 * Private to this room. A "position" is an index into a table of the new file, a "row" one into a
 * table of the old file.
 *
 *	patch.c		makes a profile of the unnamed frames
 *	patch.c		finds the references to stacks and strings in threads, the subcategories of
 *			kernel code; drops unused rows, and gives strings and stacks new positions
 *	patch_merge.c	makes new rows from names
 *	patch_write.c	writes the text with its new parts, and meta.extra
 */
#pragma once

#include "lib/format/firefox/patch/patch.h"
#include "lib/format/firefox/read/cells.h"
#include "lib/model/meaning/categories.h"

#define NO_POSITION UINT32_MAX

enum reference_kind {
	REFERENCE_STACK, /* a stack index or null */
	REFERENCE_STACKS, /* a list of stack indexes */
	REFERENCE_STRING,
	REFERENCE_STRINGS,
};

/* A position in the text that holds the index of a stack or a string. */
struct reference {
	struct span at;
	enum reference_kind kind;
};

struct func_draft {
	uint32_t from; /* row from which all other columns are copied */
	int64_t name, resource, source; /* cells; `name` is a string position */
	int64_t line; /* line of its definition; may be CELL_KEEP */
	int64_t flags; /* set when written */
};

struct frame_draft {
	uint32_t from;
	int64_t func, symbol, line, depth; /* func: row of funcs; the others may be CELL_KEEP */
	int64_t category, subcategory; /* may be CELL_KEEP */
	int64_t flags; /* set when written */
};

struct symbol_draft {
	uint32_t from; /* row it is copied from; NO_ROW: new */
	int64_t lib, address, name, size;
};

struct source_draft {
	uint32_t from; /* row it is copied from; NO_ROW: new */
	int64_t name, map, start; /* filename, sourceMapURL and start of the source map */
	source_file_id file; /* file whose text is added, or NO_SOURCE_FILE */
};

struct stack_draft {
	uint32_t from;
	int64_t frame;
	int64_t parent; /* position or CELL_NULL */
};

/* The functions inlined into a frame's function: positions in frames, outermost first. */
struct extra_frames {
	uint32_t first, count;
};

struct patch {
	struct layout layout;
	char *text; /* whole file */
	struct profile *profile;
	struct cells cells;
	VEC(struct reference) references; /* in text order */
	VEC(string_id) string_ids; /* id in the profile's string table, by row of stringArray */
	VEC(uint32_t) string_positions; /* by string_id; NO_POSITION: string not in the file */
	VEC(string_id) new_strings; /* strings to append to the file */
	module_id *lib_modules; /* by lib; NO_MODULE: no unnamed frame in the lib */
	VEC(uint32_t) module_libs; /* by module */
	VEC(uint32_t) unnamed; /* frame rows, one for each sample of the profile's only thread */

	/* patch_merge.c */
	VEC(struct frame_draft) frames;
	VEC(struct func_draft) funcs;
	VEC(struct symbol_draft) symbols;
	VEC(struct source_draft) sources;
	struct index func_index, symbol_index, source_index;
	struct extra_frames *extras; /* by frame row */
	/* By frame of the profile; NULL: the file has its own categories. */
	struct frame_category *categories;
	int kernel_category; /* row of the Kernel category, if `categories` is set */

	/* patch.c */
	VEC(struct stack_draft) stacks;
	uint32_t *stack_positions; /* new position by row; NULL: unchanged */
	uint32_t *string_map; /* new position by old position, or NO_POSITION; NULL: unchanged */
};

/* Returns a string's new position; other cells stay. */
static inline int64_t patch_map_string(const struct patch *r, int64_t cell)
{
	return r->string_map && cell >= 0 ? r->string_map[cell] : cell;
}

/* Returns the string's position. Appends a string that the file lacks. */
uint32_t patch_string(struct patch *r, string_id id);

/* patch.c: returns the row of the file's kernel category if it is equivalent to prof's, else -1. */
int patch_kernel_category(const struct patch *r);
/*
 * patch.c: call after the drafts are complete. `had_use` by row of funcs: used by a changed frame.
 */
void patch_drop_unused(struct patch *r, const bool *had_use);
void patch_stacks(struct patch *r);
