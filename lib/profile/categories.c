/* SPDX-License-Identifier: MIT */
#include "lib/profile/categories.h"

static const char *const only_other[] = {"Other", NULL};
static const char *const of_user[USER_SUBCATEGORY_COUNT + 1] = {
	[USER_OTHER] = "Other",
	[USER_GUESS] = "Guess",
};

const struct category_row categories[CATEGORY_COUNT] = {
	[CATEGORY_OTHER] = {"Other", "grey", only_other},
	[CATEGORY_USER] = {"User", "yellow", of_user},
	[CATEGORY_KERNEL] = {"Kernel", "orange", only_other},
	[CATEGORY_IDLE] = {"Idle", "transparent", only_other},
};

void category_of_frame(uint8_t kind, uint8_t *category, uint8_t *subcategory)
{
	*category = kind == PROFILE_FRAME_KERNEL ? CATEGORY_KERNEL : CATEGORY_USER;
	*subcategory = kind == PROFILE_FRAME_GUESS ? USER_GUESS : USER_OTHER;
}
