/* SPDX-License-Identifier: MIT */
/*
 * Properties of a file that a profile cannot hold: ids of its libs for symbol servers, and the
 * thread that front-ends show first.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/format/firefox/read/read_internal.h"

/*
 * Rows of the current tables. Those of a single thread, in processed profiles up to version 59 and
 * in Gecko profiles, are interned, so that several threads share a function.
 */

void own_tables_release(struct own_tables *own);
/* Returns the module of a library; other threads may share it. */
module_id own_tables_module(struct import *r, const struct layout_lib *lib);
/* Replaces the libraries by the list at the cursor. */
int own_libs_read(struct import *r, struct json_cursor *s, struct error *err);
/* Replaces the strings by the list at the cursor. */
int own_strings_read(struct import *r, struct json_cursor *s, struct error *err);
/* Adds a frame as a leaf. are_returns: addresses of callers are return addresses. */
void own_frames_add(struct import *r, const struct frame *frame, bool are_returns);
/* Begins a stackTable of `count` rows, which refer to the frames added before. */
void own_stacks_begin(struct import *r, size_t count);
/* Adds the next row. */
int own_stacks_add(struct import *r, size_t row, const struct own_stack *stack, struct error *err);
/* Returns a frame's category by its number in the file; -1: none. */
uint8_t own_category(const struct import *r, int64_t category);

/* Returns the name of a native function without the additions of older versions. */
string_id own_label(struct import *r, string_id name);

/* Cuts ":34" off the end of the text; false without it. */
bool own_cut_number(char *text, uint32_t *number);
/* Returns the last part of a script's location, "a -> b". */
char *own_script_uri(char *uri);

struct lib_id {
	char *debug_name, *breakpad_id; /* owned; "" if unknown */
};

struct lib_ids {
	VEC(struct lib_id) rows; /* in file order, which is also module order */
	uint64_t first_thread; /* number of the thread in the file */
};

void lib_ids_release(struct lib_ids *ids);
/* Reads them from the text of a file that was loaded as a profile. */
void lib_ids_read(struct lib_ids *ids, const char *text, size_t size);
