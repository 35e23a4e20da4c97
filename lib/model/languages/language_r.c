/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* R's interpreter publishes no names. */

static const char *const tiers[] = {"Other", NULL};

const struct language language_r = {
	.category = {language_title_r, "lightblue", tiers},
	.library = "libR.so",
};
