/* SPDX-License-Identifier: MIT */
/* The command line of prof browse. */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/query/keys.h"

struct browse_options {
	const char *path, *other; /* other: file to compare with; NULL: none */
	struct query_filter filter;
	enum query_by by;
	bool is_tree, is_inverted;
	VEC(const char *)
	debug_dirs; /* NULL-terminated after parsing; the terminator is not counted */
};

/* Fills a table with the options, whose values are stored in a struct browse_options. */
void browse_options_table(struct option_table *t, void *options);
/* Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong. */
int browse_options_parse(struct browse_options *o, int argc, char **argv, struct error *err);

/* The hidden command of prof-browse, before the words of the command line. */
#define COMMAND_BROWSE "__browse"
