/* SPDX-License-Identifier: MIT */
/* Languages whose interpreters publish no names of code, unless told to. */
#include "lib/model/languages/language.h"

static const char *const tiers[] = {"Other", NULL};
static const char *const tiers_php[] = {"Other", "PHP", "C function", NULL};
static const char *const tiers_ruby[] = {"Other", "Ruby", "C method", NULL};

const struct language language_lua = {
	.category = {language_title_lua, "lightblue", tiers},
	.library = "liblua.so",
};

const struct language language_perl = {
	.category = {language_title_perl, "lightblue", tiers},
	.library = "libperl.so",
};

const struct language language_php = {
	.category = {language_title_php, "purple", tiers_php},
	.library = "libphp.so",
	.has_own_heap = true,
};

const struct language language_r = {
	.category = {language_title_r, "lightblue", tiers},
	.library = "libR.so",
};

const struct language language_ruby = {
	.category = {language_title_ruby, "magenta", tiers_ruby},
	.library = "libruby-",
};
