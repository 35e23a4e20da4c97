/* SPDX-License-Identifier: MIT */
/* What a word on the command line was meant to be: a typing mistake, or a word of perf(1). */
#ifndef PROF_CMD_TEXT_HINTS_H
#define PROF_CMD_TEXT_HINTS_H

#include <getopt.h>
#include <stddef.h>

#include "lib/base/error.h"

/* Makes err say that there is no such command, and what to type instead where that can be told. */
void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count);
/*
 * The same for an option: `letter` where it was one, else `word` as it was typed ("--name",
 * "--name=value").
 */
void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs);

#endif
