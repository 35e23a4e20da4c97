/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* The engine publishes no names, unless told to. */

static const char *const tiers[] = {"Other", "PHP", "C function", NULL};

const struct language language_php = {
	.category = {language_title_php, "purple", tiers},
	.library = "libphp.so",
	.has_own_heap = true,
};
