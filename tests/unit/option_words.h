/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "cmd/options/option_table.h"

/* Parses "--name=value", or "--name" if the value is NULL. Returns 0 or -EINVAL with err. */
static inline int parse_option(struct option_table *t, const char *name, const char *value,
			       struct error *err)
{
	/* Values are borrowed: the words live as long as the program. */
	static char words[64][128];
	static size_t count;
	char *word = words[count++ % 64], *argv[] = {"prof", word, NULL};
	int ret;

	snprintf(word, sizeof(words[0]), "--%s%s%s", name, value ? "=" : "", value ? value : "");
	optind = 0; /* restarts getopt(3) */
	ret = option_table_next(t, 2, argv, err);
	return ret > 0 ? 0 : ret;
}
