/* SPDX-License-Identifier: MIT */
/* Frames: locations in modules, with or without a name. */
#pragma once

#include "lib/base/open_file.h"
#include "lib/model/tables/ids.h"

/*
 * Functions, the native symbols that cover their machine code, and their source files. A function
 * is one row of the call tree, identified by name, module, source file, and the position of its
 * definition, as many functions of scripts are anonymous.
 */

struct func {
	string_id name;
	module_id module; /* NO_MODULE: unknown */
	source_file_id file; /* NO_SOURCE_FILE: unknown */
	uint32_t line, column; /* position of the definition; 0: unknown; column: of scripts only */
	bool is_js; /* is a JavaScript function */
	bool is_named; /* false: the name is an address or fun_<hex> */
};

struct symbol {
	module_id module;
	string_id name;
	uint64_t rva;
	uint64_t size; /* 0: unknown */
};

struct funcs {
	VEC(struct func) rows;
	struct index index;
};

struct symbols {
	VEC(struct symbol) rows;
	struct index index;
};

struct source_file {
	string_id path;
	char *text; /* contents, owned; NULL: unknown */
	size_t size;
	/* Users whose processes have functions without a module in the file, with one pid each. */
	struct readers users;
	uint32_t pid;
};

struct source_files {
	VEC(struct source_file) rows;
	struct index index;
};

void funcs_release(struct funcs *f);
/* Identity is name, module, file, line and column. */
func_id funcs_intern(struct funcs *f, const struct func *func);

void symbols_release(struct symbols *s);
/* Identity is (module, rva). The first name and size win. */
symbol_id symbols_intern(struct symbols *s, const struct symbol *symbol);

void source_files_release(struct source_files *s);
source_file_id source_files_intern(struct source_files *s, string_id path);
/* Takes ownership of the text (from malloc) for a file that has none yet. */
void source_files_set_text(struct source_files *s, source_file_id id, char *text, size_t size);

/* lib/stream/session translates the stream's kinds to these. */
enum profile_frame_kind {
	PROFILE_FRAME_NATIVE,
	PROFILE_FRAME_KERNEL,
	PROFILE_FRAME_GUESS,
	PROFILE_FRAME_SIGNAL,
	PROFILE_FRAME_LABEL, /* not code: a reason for a wait */
	PROFILE_FRAME_MANAGED, /* code of a runtime; `offset` is a code position until naming */
};

struct frame {
	module_id module; /* NO_MODULE: offset is a plain address */
	func_id func; /* NO_FUNC before naming */
	uint64_t offset; /* file offset; return addresses already have 1 subtracted */
	symbol_id symbol; /* native symbol covering the frame; NO_SYMBOL: none */
	uint32_t line; /* 0: unknown */
	uint16_t inline_depth; /* 0: the physical (outermost) function */
	uint8_t kind; /* enum profile_frame_kind */
	uint8_t language; /* enum language_id; determines the category */
	uint8_t tier; /* compiler tier; determines the subcategory */
	/* Set for labels, and for all frames if the profile has categories of its own; else 0. */
	uint8_t category, subcategory;
	uint8_t role; /* enum code_role */
};

struct frames {
	VEC(struct frame) rows;
	struct index index;
};

void frames_release(struct frames *f);
/* Identity is every field of *frame. */
frame_id frames_intern(struct frames *f, const struct frame *frame);
const struct frame *frames_get(const struct frames *f, frame_id id);

/* All stacks of all threads as one tree: a node is a frame called by its parent. */

struct stack {
	stack_id parent; /* NO_STACK for a root; always smaller than the id of the node itself */
	frame_id frame;
};

struct stacks {
	VEC(struct stack) rows;
	struct index index;
};

void stacks_release(struct stacks *s);
stack_id stacks_intern(struct stacks *s, stack_id parent, frame_id frame);
/* Marks a stack and its ancestors in `used`, an array indexed by stack. Accepts NO_STACK. */
void stacks_mark(const struct stacks *s, stack_id stack, bool *used);
