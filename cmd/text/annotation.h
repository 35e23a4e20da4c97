/* SPDX-License-Identifier: MIT */
/* Source lines of a function with their weights. */
#ifndef PROF_CMD_TEXT_ANNOTATION_H
#define PROF_CMD_TEXT_ANNOTATION_H

#include "cmd/text/query_listing.h"
#include "lib/base/readers.h"

struct annotation_line {
	uint32_t line; /* 0: not known */
	uint64_t self, total;
};

/* Lines of one file that functions of that name have, ascending. */
struct annotation_file {
	char *path, *module; /* owned; NULL: not known */
	char *text; /* owned, NULL if none */
	size_t size;
	bool is_changed; /* the text is that of a file that was written after the recording */
	uint64_t total; /* at most what all lines have */
	VEC(struct annotation_line) lines;
};

struct annotation {
	VEC(struct annotation_file) files; /* the heaviest first */
};

/*
 * Finds the lines of all functions of that name, and their text: the profile's own, else that of
 * the file of that name here, which the invoking user and the writer of the profile may both read.
 */
void annotation_make(struct annotation *a, const struct query *q, const char *function,
		     struct reader writer);
void annotation_release(struct annotation *a);

/* For people: the lines with weight and some around them. A listing of its own. */
void annotation_list_file(struct listing *l, const struct annotation_file *file,
			  const struct query *q, const struct query_listing_options *options);
/* For programs: the lines with weight of all files. */
void annotation_list(struct listing *l, const struct annotation *a, const struct query *q,
		     const struct query_listing_options *options);

#endif
