/* SPDX-License-Identifier: MIT */
/* Expands placeholders in names of outputs. */
#pragma once

#include "lib/base/base.h"

struct output_words {
	pid_t pid; /* %p: pid of the recorder */
	const char *command; /* %c: name of a program, "attach", or "system" */
	uint64_t realtime_ns; /* %t: time, formatted as 20261231-235959 in local time */
};

/*
 * Replaces %p, %c, %t, %h by the host name, %n by the smallest number from 1 for which no such file
 * exists, and %% by %. The caller frees the name. Returns NULL with -EINVAL in err if another
 * letter follows a %.
 */
char *output_name_expand(const char *name, const struct output_words *words, struct error *err);
