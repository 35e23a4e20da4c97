/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* Lua's interpreter publishes no names. */

static const char *const tiers[] = {"Other", NULL};

const struct language language_lua = {
	.category = {language_title_lua, "lightblue", tiers},
	.library = "liblua.so",
};
