/* SPDX-License-Identifier: MIT */
/*
 * Functions, the native symbols that cover their machine code, and their source files. A function
 * is one row of the call tree: one per (name, module, source file). In scripts, where many
 * functions are anonymous, the place in the file counts, too.
 */
#ifndef PROF_LIB_MODEL_TABLES_FUNCS_H
#define PROF_LIB_MODEL_TABLES_FUNCS_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/readers.h"
#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

struct func {
	string_id name;
	module_id module; /* or NO_MODULE */
	source_file_id file; /* or NO_SOURCE_FILE */
	uint32_t line, column; /* of the definition in a script; 0: unknown */
	bool is_js; /* JavaScript */
	bool is_named; /* false: name is synthetic, an address or fun_<hex> */
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
	char *text; /* contents, owned; NULL: not known */
	size_t size;
	/* Users and one pid of the processes whose functions without a module are in it. */
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
/* Identity is (module, rva). The first name and size are kept. */
symbol_id symbols_intern(struct symbols *s, const struct symbol *symbol);

void source_files_release(struct source_files *s);
source_file_id source_files_intern(struct source_files *s, string_id path);
/* Takes ownership of the text (from malloc) of a file that has none yet. */
void source_files_set_text(struct source_files *s, source_file_id id, char *text, size_t size);

#endif
