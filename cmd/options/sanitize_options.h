/* SPDX-License-Identifier: MIT */
/* Options of commands that write profiles for others to read. */
#ifndef PROF_CMD_OPTIONS_SANITIZE_OPTIONS_H
#define PROF_CMD_OPTIONS_SANITIZE_OPTIONS_H

#include "lib/base/strbuf.h"
#include "lib/sanitize/sanitize.h"

struct sanitize_settings {
	bool is_asked; /* --sanitize was given */
	bool checks; /* --check-sanitized was given */
	struct sanitize_options options; /* without key, user, home and host */
	const char *key_path; /* NULL: the user's own key */
};

/* Above the values of the options of queries. */
enum {
	OPT_SANITIZE = 2048,
	OPT_SANITIZE_KEY,
	OPT_CHECK_SANITIZED,
};

/* clang-format off */
#define SANITIZE_LONG_OPTIONS \
	{"sanitize", optional_argument, NULL, OPT_SANITIZE}, \
	{"sanitize-key", required_argument, NULL, OPT_SANITIZE_KEY}, \
	{"check-sanitized", no_argument, NULL, OPT_CHECK_SANITIZED}
/* clang-format on */

/* A group of options with a heading, to follow an empty line. */
extern const char sanitize_options_help[];

/* Takes away what is taken away by default. */
void sanitize_options_default(struct sanitize_settings *s);
/* -ENOENT: not such an option; -EINVAL with err: a wrong value. Values are borrowed. */
int sanitize_options_set(struct sanitize_settings *s, int opt, const char *value,
			 struct error *err);

#endif
