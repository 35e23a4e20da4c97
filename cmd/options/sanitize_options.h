/* SPDX-License-Identifier: MIT */
/* Options of commands that write profiles for publication. */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/query/sanitize/sanitize.h"

struct sanitize_settings {
	bool is_asked; /* --sanitize was given */
	bool checks; /* --check-sanitized was given */
	struct sanitize_options options; /* key, user, home and host are not set yet */
	const char *key_path; /* NULL: use the user's own key */
};

/*
 * A group of options with a heading, after an empty line; values are stored in sanitize_settings.
 */
extern const struct option_row sanitize_options[];
/* OPTION_CALL function for sanitize_settings. Without a list, removes the default classes. */
option_set_fn sanitize_set;

/* Selects the default classes for removal. */
void sanitize_options_default(struct sanitize_settings *s);
