/* SPDX-License-Identifier: MIT */
/* Guesses the meaning of an unknown word on the command line: a typing mistake, or perf(1)'s. */
#ifndef PROF_CMD_OPTIONS_HINTS_H
#define PROF_CMD_OPTIONS_HINTS_H

#include <getopt.h>
#include <stddef.h>

#include "lib/base/error.h"

/* Sets err to say that the command is unknown, and suggests one if possible. */
void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count);
/*
 * Does the same for an option: `letter` if nonzero, else `word` as typed ("--name",
 * "--name=value").
 */
void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs);

#endif
