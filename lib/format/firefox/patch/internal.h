/* SPDX-License-Identifier: MIT */
/*
 * Between the files of this room, and for nobody else. "Position" is an index into a table of the
 * file as it will be; "row" one into a table of the file as it was.
 *
 *	patch.c		the unnamed frames as a profile
 *	references.c	where threads refer to stacks and strings
 *	merge.c		names as new rows of the tables
 *	categories.c	kernel code by the part of it that it belongs to
 *	renumber.c	what is not used any more; strings and stacks by their new positions
 *	write.c		the text with its new parts
 *	write_extra.c	one of them
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_INTERNAL_H

#include "lib/base/index.h"
#include "lib/profile/categories.h"
#include "lib/format/firefox/read/cells.h"
#include "lib/format/firefox/patch/patch.h"

#define NO_POSITION UINT32_MAX

enum reference_kind {
	REFERENCE_STACK, /* an index, or null */
	REFERENCE_STACKS, /* a list of them */
	REFERENCE_STRING,
	REFERENCE_STRINGS,
};

/* A place in the text that refers to a stack or a string by its index. */
struct reference {
	struct span at;
	enum reference_kind kind;
};

struct func_draft {
	uint32_t from; /* the row it takes all else from */
	int64_t name, resource, source; /* cells; name is a string's position */
};

struct frame_draft {
	uint32_t from;
	int64_t func, symbol, line, depth; /* func: in funcs; the others may be CELL_KEEP */
	int64_t category, subcategory; /* likewise */
};

struct symbol_draft {
	uint32_t from; /* or NO_ROW: it is new */
	int64_t lib, address, name, size;
};

struct source_draft {
	uint32_t from; /* or NO_ROW */
	int64_t name;
	source_file_id file; /* whose text it gets, or NO_SOURCE_FILE */
};

struct stack_draft {
	uint32_t from;
	int64_t frame;
	uint32_t parent; /* a position or NO_POSITION */
};

/* The functions inlined into that of a frame: positions in frames, outermost first. */
struct extra_frames {
	uint32_t first, count;
};

struct patch {
	struct layout layout;
	char *text; /* of the whole file */
	struct profile *profile;
	struct cells cells;
	VEC(struct reference) references; /* as they stand in the text */
	VEC(string_id) string_ids; /* by row of stringArray; in the profile's table */
	VEC(uint32_t) string_positions; /* by string_id; NO_POSITION: not in the file */
	VEC(string_id) new_strings; /* behind those of the file */
	module_id *lib_modules; /* by lib; NO_MODULE where no unnamed frame lies in it */
	VEC(uint32_t) module_libs; /* by module */
	VEC(uint32_t) unnamed; /* rows of frames; each is a sample of the profile's only thread */

	/* merge.c */
	VEC(struct frame_draft) frames;
	VEC(struct func_draft) funcs;
	VEC(struct symbol_draft) symbols;
	VEC(struct source_draft) sources;
	struct index func_index, symbol_index, source_index;
	struct extra_frames *extras; /* by row of frames */
	struct frame_category *categories; /* by frame of the profile; NULL: the file has others */
	int kernel_category; /* a row of the file's, where there are `categories` */

	/* renumber.c */
	VEC(struct stack_draft) stacks;
	uint32_t *stack_positions; /* by row; NULL: they stay */
	uint32_t *string_map; /* by position before: after, or NO_POSITION; NULL: they stay */
};

/* The string's position, behind all others where the file does not have it yet. */
uint32_t patch_string(struct patch *r, string_id id);

/* references.c: all that there are. What is no list of threads is an error. */
int patch_find_references(struct patch *r, struct error *err);
/* categories.c: which of the file's is the kernel's, as prof gives it; -1: none. */
int patch_kernel_category(const struct patch *r);
/* renumber.c: once the drafts are complete. `had_use` by row of funcs: by a frame that changed. */
void patch_drop_unused(struct patch *r, const bool *had_use);
void patch_stacks(struct patch *r);
/* write_extra.c: the value of meta.extra; an entry of the profile's takes the place of its equal.
 */
void patch_extra(const struct patch *r, struct jsonw *w);

#endif
