/* SPDX-License-Identifier: MIT */
/* A profile that a user names on the command line: opened, read and understood. */
#ifndef PROF_CMD_RUN_PROFILE_FILE_H
#define PROF_CMD_RUN_PROFILE_FILE_H

#include "lib/base/error.h"
#include "lib/base/readers.h"
#include "lib/format/format.h"

struct output_options;
struct recording;
struct source_kind;

struct profile_file {
	const char *label; /* the path, or "standard input" for "-"; borrowed */
	char *text; /* inflated; owned */
	size_t size;
	const struct format *format; /* of the text, NULL: of none */
	/* Set by profile_file_load(), which keeps no text, and of records. */
	struct profile *profile;
	struct import_counts counts;
	struct recording *recording; /* owns the profile that was made of it; NULL: none */
};

/* A zeroed struct is empty, and so it is after a failure. */
void profile_file_release(struct profile_file *f);
/* Opens a path, or standard input for "-"; the descriptor is the caller's. Sets the label. */
int profile_file_open(struct profile_file *f, const char *path, struct error *err);
/* Reads the text of a descriptor opened in this way, and finds its format. */
int profile_file_read(struct profile_file *f, int fd, struct error *err);
/* The same; of records, which are no text, it makes a profile without names. */
int profile_file_read_unnamed(struct profile_file *f, int fd, struct error *err);
/*
 * Replaces what was read so, unless it is a processed profile with shared tables, by the text of
 * one.
 */
int profile_file_upgrade(struct profile_file *f, struct error *err);
/* Returns the owner of the file, who may have written what it names; unknown for a pipe. */
struct reader profile_file_owner(const char *path);
/*
 * Loads a file of records, which is the caller's to release; lines about it go to stderr. Errors
 * are those of recording_load().
 */
int profile_file_load_records(struct recording *r, const struct source_kind *kind, int fd,
			      const char *label, const struct output_options *output,
			      struct error *err);
/*
 * All of it, as the invoking user: root reads nothing that the user may not read. A path may be the
 * address of an engine that keeps samples of many machines. A file of records is named as `output`
 * says; NULL: by default.
 */
int profile_file_load(struct profile_file *f, const char *path, const struct output_options *output,
		      struct error *err);

#endif
