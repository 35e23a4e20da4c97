/* SPDX-License-Identifier: MIT */
/*
 * Suggests corrections of unknown words on the command line: typing mistakes, or words of perf(1).
 */
#pragma once

#include <getopt.h>

#include "lib/base/base.h"

/* Sets err for an unknown command, with a suggestion if possible. */
void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count);
/*
 * Does the same for an option: `letter` if nonzero, else `word` as typed ("--name",
 * "--name=value").
 */
void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs);
