/* SPDX-License-Identifier: MIT */
/* The two sides of a comparison: profiles named by the user, and their runs. */
#pragma once

#include "cmd/run/profile_file.h"
#include "lib/query/gate.h"
#include "lib/query/runs.h"
#include "lib/query/select.h"
#include "lib/query/statistics.h"

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
