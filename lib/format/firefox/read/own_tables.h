/* SPDX-License-Identifier: MIT */
/*
 * Tables that each thread has of its own: in processed profiles up to version 59, and in those of
 * Gecko. Their rows are interned, so that a function of several threads is one.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_OWN_TABLES_H
#define PROF_LIB_FORMAT_FIREFOX_READ_OWN_TABLES_H

#include "lib/base/index.h"
#include "lib/format/firefox/read/read_internal.h"

/* A library of a process, with the addresses that it was mapped at. */
struct own_lib {
	uint64_t start, end; /* 0, 0: not told */
	uint64_t offset; /* of what is at `start` */
	module_id module;
};

struct own_libs {
	VEC(struct own_lib) rows;
};

/* A module by what it was made of. */
struct own_module {
	string_id name, path;
	uint64_t id_hash; /* of the build id */
	module_id module;
};

/* A frame as it is at the leaf of a sample, and as a caller. */
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

/* Returns the module of a library, which may be that of another thread. */
module_id own_tables_module(struct import *r, const struct layout_lib *lib);
/* Reads the tables of the thread at the cursor, of a Gecko profile. */
int gecko_read_tables(struct import *r, struct json_cursor s, struct error *err);
/* Replaces the libraries by those of the list at the cursor. */
int own_libs_read(struct import *r, struct json_cursor *s, struct error *err);
/* Replaces the strings by those of the list at the cursor. */
int own_strings_read(struct import *r, struct json_cursor *s, struct error *err);
/* Adds a frame that is as it is at a leaf. Addresses of callers are return addresses up to now. */
void own_frames_add(struct import *r, const struct frame *frame, bool are_returns);
/* Reads the stackTable at the cursor, which is that of the frames added since. */
int own_stacks_read(struct import *r, struct json_cursor *s, struct error *err);
/* Returns the value at the cursor; -1 for null, negative numbers, and all that are no integers. */
int64_t own_number(struct json_cursor *s);
/* Returns the category of a frame by that in the file; -1: none. */
uint8_t own_category(const struct import *r, int64_t category);

/* Returns the name of a function that is no script's, without what older versions add. */
string_id own_label(struct import *r, string_id name);

/* Places of the tables of a thread in its object; 0, 0: missing. */
struct own_spans {
	struct span strings, libs, frames, stacks, funcs, resources, symbols;
};

void own_spans_find(struct own_spans *spans, struct json_cursor s);

#endif
