/* SPDX-License-Identifier: MIT */
/* Categories and subcategories of frames; the names are part of what users rely on. */
#ifndef PROF_LIB_PROFILE_CATEGORIES_H
#define PROF_LIB_PROFILE_CATEGORIES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/profile/frames.h"

/* In the order of the file. */
enum category {
	CATEGORY_OTHER, /* the default one: grey */
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_IDLE,
	CATEGORY_COUNT,
};

/* Of CATEGORY_USER; each category has its own, in all of them 0 is "Other". */
enum user_subcategory {
	USER_OTHER,
	USER_GUESS, /* a return address found by scanning: perhaps it was not called from there */
	USER_SUBCATEGORY_COUNT,
};

struct category_row {
	const char *name;
	const char *color; /* a colour of the front-end */
	const char *const *subcategories; /* NULL-terminated; the first is "Other" */
};

extern const struct category_row categories[CATEGORY_COUNT];

/* Category and subcategory of a frame; `kind` is enum profile_frame_kind. */
void category_of_frame(uint8_t kind, uint8_t *category, uint8_t *subcategory);

#endif
