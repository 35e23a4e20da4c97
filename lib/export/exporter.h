/* SPDX-License-Identifier: MIT */
/* A format that a profile can be written in. One of the three seams; a format is one row. */
#ifndef PROF_LIB_EXPORT_EXPORTER_H
#define PROF_LIB_EXPORT_EXPORTER_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/profile/profile.h"

/* What a file has that the profile does not. */
struct export_counts {
	uint64_t gap_rows; /* of samples: they only say that a thread did not run */
};

struct exporter {
	const char *name; /* "firefox" */
	/*
	 * Streams the profile; write failures stay in `out` for outfile_commit(). `counts` may be
	 * NULL.
	 */
	int (*write)(struct profile *p, struct outfile *out, struct export_counts *counts,
		     struct error *err);
};

extern const struct exporter exporter_firefox;

#endif
