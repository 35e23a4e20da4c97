/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* Ruby: its interpreter writes no names for others. */

static const char *const tiers[] = {"Other", "Ruby", "C method", NULL};

const struct language language_ruby = {
	.category = {"Ruby", "magenta", tiers},
	.library = "libruby-",
};
