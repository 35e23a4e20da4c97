/* SPDX-License-Identifier: MIT */
/* Frames that stand for no code: what a thread waits for, a span of the program. */
#ifndef PROF_LIB_PROFILE_LABEL_FRAMES_H
#define PROF_LIB_PROFILE_LABEL_FRAMES_H

#include "lib/profile/categories.h"
#include "lib/profile/profile.h"

/* As frames_intern(), of a frame with nothing but a name and a category. */
frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category);

#endif
