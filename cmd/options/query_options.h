/* SPDX-License-Identifier: MIT */
/* Options of every command that asks a profile: which samples count, which frames are shown. */
#ifndef PROF_CMD_OPTIONS_QUERY_OPTIONS_H
#define PROF_CMD_OPTIONS_QUERY_OPTIONS_H

#include "cmd/options/option_table.h"
#include "lib/query/select.h"

/* Two groups of options with headings, after an empty line; values go into a query_filter. */
extern const struct option_row query_options[];
/* Range for a limit of rows: size_t. */
extern const struct size_range query_limit;

#endif
