/* SPDX-License-Identifier: MIT */
/*
 * Where in the text of a processed profile the things stand that naming frames changes: the shared
 * tables, and every place that refers to a stack or a string by its index. All else is nobody's
 * business here and stays byte for byte as it is.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_LAYOUT_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_LAYOUT_H

#include "lib/format/firefox/patch/table.h"

/* Versions of the format that are understood. */
#define LAYOUT_VERSION_MIN 60 /* the first with one set of tables for all threads */
#define LAYOUT_VERSION_MAX 70

enum reference_kind {
	REFERENCE_STACK, /* an index, or null */
	REFERENCE_STACKS, /* a list of them */
	REFERENCE_STRING,
	REFERENCE_STRINGS,
};

struct reference {
	struct span at;
	enum reference_kind kind;
};

struct layout_lib {
	char *name, *path, *debug_path; /* owned; "" where there is none */
	uint8_t build_id[20];
	uint8_t build_id_size;
};

struct layout {
	struct json_cursor cursor; /* of the whole text; each part is read through a copy */
	int64_t version;
	struct span meta;
	/* Values of members of meta; 0, 0: there is none. */
	struct span symbolicated, not_supported, extra, categories, os;
	VEC(struct layout_lib) libs;
	struct table stacks, frames, funcs, symbols, resources, sources;
	struct span strings; /* the array */
	size_t string_count;
	VEC(struct reference) references; /* as they stand in the text */
	/* There are parts that may refer to strings in a way of their own. */
	bool has_unknown;
};

/*
 * The text is borrowed. -EBADMSG where it is no processed profile, or one that is damaged,
 * -ENOTSUP where it is one of another version.
 */
int layout_read(struct layout *l, const char *text, size_t size, struct error *err);
void layout_release(struct layout *l);

/* layout_threads.c: the references. What is no list of threads is an error. */
int layout_read_threads(struct layout *l, struct span threads, struct span schemas,
			struct error *err);

#endif
