/* SPDX-License-Identifier: MIT */
/* Options of every command that asks a profile: which samples count, which frames are shown. */
#ifndef PROF_CMD_OPTIONS_QUERY_OPTIONS_H
#define PROF_CMD_OPTIONS_QUERY_OPTIONS_H

#include "cmd/options/option_table.h"
#include "lib/query/keys.h"
#include "lib/query/select.h"

/* Two groups of options with headings, after an empty line; values go into a query_filter. */
extern const struct option_row query_options[];
/* Help of --by, which sets an enum query_by. */
#define QUERY_BY_HELP \
	"rows: function (default), module, file, line, process\n" \
	"(of a program), pid, thread, category, address"
/* Checks that stacks consist of such rows, for trees. 0, or -EINVAL with err. */
int query_options_check_tree(enum query_by by, struct error *err);
/* Range for a limit of rows: size_t. */
extern const struct size_range query_limit;

#endif
