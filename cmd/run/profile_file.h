/* SPDX-License-Identifier: MIT */
/* A profile named on the command line: opened, read and parsed. */
#pragma once

#include "lib/base/open_file.h"
#include "lib/format/format.h"

struct output_options;
struct recording;
struct source_kind;

struct profile_file {
	const char *label; /* the path, or "standard input" for "-"; borrowed */
	char *text; /* decompressed text; owned */
	size_t size;
	const struct format *format; /* format of the text; NULL: unknown */
	/* Set by profile_file_load(), which keeps no text, and for captures. */
	struct profile *profile;
	struct import_counts counts;
	struct recording *recording; /* recording that owns the profile made from it; NULL: none */
};

/* A zeroed struct is empty, as is the struct after a failure. */
void profile_file_release(struct profile_file *f);
/* Opens a path, or standard input for "-". Sets the label. The caller owns the descriptor. */
int profile_file_open(struct profile_file *f, const char *path, struct error *err);
/* Reads the text of such a descriptor and detects its format. */
int profile_file_read(struct profile_file *f, int fd, struct error *err);
/* The same, except that a capture, which is not text, becomes a profile without names. */
int profile_file_read_unnamed(struct profile_file *f, int fd, struct error *err);
/*
 * Replaces the profile by the text of a processed profile with shared tables, unless it was read
 * from one.
 */
int profile_file_upgrade(struct profile_file *f, struct error *err);
/* Returns the file's owner, whose rights limit the files that it may name; unknown for a pipe. */
struct reader profile_file_owner(const char *path);
/*
 * Loads a capture, which the caller releases. Prints messages about it to stderr. Returns the same
 * errors as recording_load().
 */
int profile_file_load_records(struct recording *r, const struct source_kind *kind, int fd,
			      const char *label, const struct output_options *output,
			      struct error *err);
/*
 * Reduces the profile to its critical path, see path_weights_apply(). Returns -ENODATA if there is
 * none.
 */
int profile_file_keep_path(struct profile_file *f, bool as_event, struct error *err);
/*
 * Opens, reads and parses as the invoking user, so that root reads only files that the user can
 * read. A path may be the address of an engine that stores samples of many machines. Names a
 * capture according to `output`; NULL: the default.
 */
int profile_file_load(struct profile_file *f, const char *path, const struct output_options *output,
		      struct error *err);
