/* SPDX-License-Identifier: MIT */
/* Frames without code: the reason of a wait, or a span reported by the program. */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

/*
 * Like frames_intern(), for a frame with only a name and a category. Adds the category if the
 * profile has its own categories and lacks it.
 */
frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category);
