/* SPDX-License-Identifier: MIT */
/*
 * Tables of a single thread, in processed profiles up to version 59 and in Gecko profiles. Rows are
 * interned, so that several threads share a function.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_OWN_TABLES_H
#define PROF_LIB_FORMAT_FIREFOX_READ_OWN_TABLES_H

#include "lib/base/index.h"
#include "lib/format/firefox/read/read_internal.h"

/* A library of a process, with the addresses of its mapping. */
struct own_lib {
	uint64_t start, end; /* 0, 0: missing */
	uint64_t offset; /* file offset of `start` */
	module_id module;
};

struct own_libs {
	VEC(struct own_lib) rows;
};

/* A module, found by the library's properties. */
struct own_module {
	string_id name, path;
	uint64_t id_hash; /* of the build id */
	module_id module;
};

/* A frame in two forms: as the leaf of a sample, and as a caller. */
struct own_frame {
	frame_id exact, caller;
};

struct own_stack {
	int64_t prefix, frame; /* rows of the file; -1: none */
	int64_t category, subcategory;
};

struct own_tables {
	VEC(struct own_module) modules;
	struct index module_index;
	struct own_libs libs; /* of the process, or of the thread, in the order of the file */
	VEC(struct own_frame) frames;
	VEC(struct own_stack) stacks;
	VEC(string_id) sources; /* names by row of the file's table of them */
	bool has_shared_strings;
};

struct own_tables *own_tables_new(void);
void own_tables_free(struct own_tables *own);

/* Returns the module of a library; other threads may share it. */
module_id own_tables_module(struct import *r, const struct layout_lib *lib);
/* Gecko profiles: reads the tables of the thread at the cursor. */
int gecko_read_tables(struct import *r, struct json_cursor s, struct error *err);
/* Replaces the libraries by the list at the cursor. */
int own_libs_read(struct import *r, struct json_cursor *s, struct error *err);
/* Replaces the strings by the list at the cursor. */
int own_strings_read(struct import *r, struct json_cursor *s, struct error *err);
/* Adds a frame in its form as a leaf. are_returns: addresses of callers are return addresses. */
void own_frames_add(struct import *r, const struct frame *frame, bool are_returns);
/* Reads the stackTable at the cursor, which refers to the frames added since the last one. */
int own_stacks_read(struct import *r, struct json_cursor *s, struct error *err);
/* Returns the value at the cursor; -1 for null, negative numbers and everything but integers. */
int64_t own_number(struct json_cursor *s);
/* Returns a frame's category by its number in the file; -1: none. */
uint8_t own_category(const struct import *r, int64_t category);

/* Returns the name of a native function without the additions of older versions. */
string_id own_label(struct import *r, string_id name);

/* Places of a thread's tables in its object; 0, 0: missing. */
struct own_spans {
	struct span strings, libs, frames, stacks, funcs, resources, symbols;
};

void own_spans_find(struct own_spans *spans, struct json_cursor s);

#endif
