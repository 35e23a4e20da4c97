/* SPDX-License-Identifier: MIT */
/* Ruby: its interpreter writes no names for others. */
#include "lib/model/languages/language.h"

static const char *const tiers[] = {"Other", "Ruby", "C method", NULL};

const struct language language_ruby = {
	.category = {"Ruby", "magenta", tiers},
	.library = "libruby-",
};
