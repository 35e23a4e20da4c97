/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* Perl's interpreter publishes no names. */

static const char *const tiers[] = {"Other", NULL};

const struct language language_perl = {
	.category = {language_title_perl, "lightblue", tiers},
	.library = "libperl.so",
};
