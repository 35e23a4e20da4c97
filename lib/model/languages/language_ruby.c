/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* Ruby's interpreter publishes no names. */

static const char *const tiers[] = {"Other", "Ruby", "C method", NULL};

const struct language language_ruby = {
	.category = {language_title_ruby, "magenta", tiers},
	.library = "libruby-",
};
