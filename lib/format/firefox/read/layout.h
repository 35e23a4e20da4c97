/* SPDX-License-Identifier: MIT */
/*
 * Places of the parts of a processed profile in its text: the shared tables, what meta says, and
 * the lists that readers walk through themselves. The one place that knows the versions of the
 * format: both reading into a profile and patching a text start here.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_LAYOUT_H
#define PROF_LIB_FORMAT_FIREFOX_READ_LAYOUT_H

#include "lib/format/firefox/read/table.h"
#include "lib/format/firefox/version.h"
#include "lib/profile/modules.h"

/* Versions of the format that are understood. */
#define LAYOUT_VERSION_MIN 60 /* the first with one set of tables for all threads */
#define LAYOUT_VERSION_MAX FIREFOX_FORMAT_VERSION
/* The first ones in which ... */
#define LAYOUT_VERSION_DISTANCE 66 /* stacks tell how far away their parent is */
#define LAYOUT_VERSION_FRAME_LIB 70 /* a frame names its lib, and not its function's resource */

struct layout_lib {
	char *name, *path, *debug_path, *arch; /* owned; "" where there is none */
	uint8_t build_id[20];
	uint8_t build_id_size;
	bool has_breakpad_id; /* in place of a build id, of which it is the start */
};

struct layout {
	struct json_cursor cursor; /* of the whole text; each part is read through a copy */
	int64_t version;
	/* Values of members, of the file and of meta; 0, 0: there is none. */
	struct span meta, threads, counters;
	struct span symbolicated, not_supported, extra, categories, os, schemas;
	VEC(struct layout_lib) libs;
	struct table stacks, frames, funcs, symbols, resources, sources;
	struct span strings; /* the array */
	size_t string_count;
	size_t other_count; /* members that are none of these and hold something */
	/* There are parts that may refer to strings in a way of their own. */
	bool has_unknown;
};

/*
 * The text is borrowed. -EBADMSG where it is no processed profile, or one that is damaged,
 * -ENOTSUP where it is one of another version.
 */
int layout_read(struct layout *l, const char *text, size_t size, struct error *err);
void layout_release(struct layout *l);

enum profile_module_kind layout_lib_kind(const struct layout_lib *lib);
/* The recorder named such a file without what the kernel had added to its path. */
bool layout_lib_was_deleted(const struct layout_lib *lib);

#endif
