/* SPDX-License-Identifier: MIT */
/* Profiles named on the command line: reading, comparing and sanitizing them. */
#pragma once

#include "cmd/options/output_options.h"
#include "lib/base/open_file.h"
#include "lib/format/format.h"
#include "lib/query/gate.h"
#include "lib/query/runs.h"
#include "lib/query/select.h"
#include "lib/query/statistics.h"

/* A profile named on the command line: opened, read and parsed. */

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

/* The two sides of a comparison: profiles named by the user, and their runs. */

struct sides {
	struct {
		VEC(struct profile_file) list;
	} files;
	struct query_runs runs[SIDE_COUNT];
	const char *names[SIDE_COUNT]; /* names of files or variants; borrowed */
};

/* A zeroed struct is empty. */
void sides_release(struct sides *s);
/*
 * Loads a file and appends its runs. Sets the number of runs dropped because a signal killed them.
 * Names a capture according to `output`; NULL: the default. Returns -ENODATA if there is no run.
 */
int sides_load(struct sides *s, const char *path, const struct output_options *output,
	       struct query_runs *runs, size_t *killed, struct error *err);
/* Properties of a difference to be written. */
struct sides_output {
	const struct format *format;
	const char *text, *json; /* comparison as text and JSON, for pages; NULL: none */
	bool is_served; /* as in struct export_options */
};

/* Compares the sides as prof diff does without options. */
int sides_compare(struct sides *s, const struct comparable *comparable, struct strbuf *text,
		  struct strbuf *json, struct error *err);
/*
 * Writes a profile of both sides and their difference. Sides are scaled to equal numbers of runs.
 */
int sides_write_difference(const struct sides *s, const struct query_filter *filter,
			   const struct sides_output *output, struct outfile *out,
			   struct error *err);

/* Sanitizes a profile with the user's settings, and reports what was removed. */

/*
 * Replaces *p, which is owned, by its sanitized form. `label`: the command's, for messages on
 * stderr. Returns 0; 1 with err if a check found something; a negative errno with err on failure.
 * *p is valid in any case.
 */
int sanitizing_run(struct profile **p, const struct sanitize_settings *settings, const char *label,
		   struct error *err);
