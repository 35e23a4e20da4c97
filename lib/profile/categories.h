/* SPDX-License-Identifier: MIT */
/* Categories and subcategories of frames; the names are part of what users rely on. */
#ifndef PROF_LIB_PROFILE_CATEGORIES_H
#define PROF_LIB_PROFILE_CATEGORIES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/languages/language.h"
#include "lib/profile/profile.h"

/* In the order of the file. */
enum category {
	CATEGORY_OTHER, /* the default one: grey */
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_IDLE,
	/* A language's own is this plus its enum language_id. */
	CATEGORY_BEFORE_LANGUAGES = CATEGORY_IDLE,
#define LANGUAGE(NAME, name) CATEGORY_##NAME,
#include "lib/languages/languages.def"
#undef LANGUAGE
	CATEGORY_COUNT,
	/* Instead of one: that of the calling frame, with its subcategory. */
	CATEGORY_OF_CALLER = UINT8_MAX,
};

/* Of CATEGORY_USER; each category has its own, in all of them 0 is "Other". */
enum user_subcategory {
	USER_OTHER,
	USER_GUESS, /* a return address found by scanning: perhaps it was not called from there */
	USER_PROGRAM,
	USER_LIBC, /* with the dynamic linker, libm and what else belongs to it */
	USER_LIBRARY,
	USER_JIT, /* memory that no file is behind */
	USER_UNNAMED, /* of a file, but its function has no name */
	USER_SUBCATEGORY_COUNT,
};

/* Of CATEGORY_KERNEL: how it was entered, then which part of it the code belongs to. */
enum kernel_subcategory {
	KERNEL_OTHER,
	KERNEL_SYSCALL,
	KERNEL_FAULT, /* page faults, and other exceptions that an instruction causes */
	KERNEL_INTERRUPT, /* with what is done at the end of one */
	KERNEL_SCHEDULER,
	KERNEL_MEMORY,
	KERNEL_FILES, /* with block devices */
	KERNEL_NETWORK,
	KERNEL_BPF,
	KERNEL_SUBCATEGORY_COUNT,
};

extern const struct category_row *const categories[CATEGORY_COUNT];

/* Rows of `categories`, or of the profile's own where it has some. */
struct frame_category {
	uint8_t category, subcategory; /* CATEGORY_OF_CALLER: 0 */
};

/*
 * Category and subcategory of each frame by its id, to be freed. A function of the kernel that
 * serves all parts of it (copying, locking) has those of its caller; one without a caller in the
 * kernel never does.
 */
struct frame_category *categories_of_frames(const struct profile *p);

#endif
