/* SPDX-License-Identifier: MIT */
/* A format that a profile can be written in. One of the three seams; a format is one row. */
#ifndef PROF_LIB_FORMAT_FORMAT_H
#define PROF_LIB_FORMAT_FORMAT_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/profile/profile.h"

struct export_options {
	bool all_threads; /* none shares its row with others, however many there are */
};

/* What a file has that the profile did not have, or has not. */
struct export_counts {
	size_t folded_threads, folded_rows; /* see struct fold_counts */
	uint64_t gap_rows; /* of samples: they only say that a thread did not run */
};

struct format {
	const char *name; /* "firefox" */
	/*
	 * Streams the profile, whose threads it may fold; write failures stay in `out` for
	 * outfile_commit(). `options` and `counts` may be NULL.
	 */
	int (*write)(struct profile *p, const struct export_options *options, struct outfile *out,
		     struct export_counts *counts, struct error *err);
};

extern const struct format exporter_firefox;

#endif
