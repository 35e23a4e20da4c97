/* SPDX-License-Identifier: MIT */
/* Categories and subcategories of frames. Users rely on their names. */
#pragma once

#include "lib/model/languages/language.h"
#include "lib/model/tables/profile.h"

/* Finds the subsystem of a kernel function by its name and source file. */

/* The function serves several subsystems, or an unknown one. */
#define KERNEL_SUBSYSTEM_ANY 0xfe

struct kernel_subsystems;

struct kernel_subsystems *kernel_subsystems_new(void);
/* Accepts NULL. */
void kernel_subsystems_free(struct kernel_subsystems *a);
/*
 * Returns an enum kernel_subcategory or KERNEL_SUBSYSTEM_ANY. Tries in turn names of entry points
 * into the kernel, the directory of the source file (NULL: unknown), and the prefix of the name, by
 * the kernel's naming conventions.
 */
uint8_t kernel_subsystems_of_function(const struct kernel_subsystems *a, const char *name,
				      const char *file);
/* Returns the same for a loaded module, "[ext4]". */
uint8_t kernel_subsystems_of_module(const struct kernel_subsystems *a, const char *name);

/* In the order of the file. */
enum category {
	CATEGORY_OTHER, /* the default category; grey */
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_IDLE, /* all waits: front-ends can hide only a category of this name */
	/* A language's category is this plus its enum language_id. */
	CATEGORY_BEFORE_LANGUAGES = CATEGORY_IDLE,
#define LANGUAGE(NAME, name, title) CATEGORY_##NAME,
#include "lib/model/languages/languages.def"
#undef LANGUAGE
	CATEGORY_COUNT,
	/* The frame has the category and subcategory of its caller. */
	CATEGORY_OF_CALLER = UINT8_MAX,
};

/* Subcategories of CATEGORY_USER. In every category, 0 is "Other". */
enum user_subcategory {
	USER_OTHER,
	USER_GUESS, /* a guessed return address, possibly not of a caller */
	USER_PROGRAM,
	USER_LIBC, /* libc, with the dynamic linker, libm and the like */
	USER_LIBRARY,
	USER_JIT, /* code in memory without a file */
	USER_UNNAMED, /* code in a file, in a function without a name */
	USER_SUBCATEGORY_COUNT,
};

/* Subcategories of CATEGORY_KERNEL: the way into the kernel, then the subsystem of the code. */
enum kernel_subcategory {
	KERNEL_OTHER,
	KERNEL_SYSCALL,
	KERNEL_FAULT, /* page faults and other exceptions caused by an instruction */
	KERNEL_INTERRUPT, /* interrupts and the softirqs they run */
	KERNEL_SCHEDULER,
	KERNEL_MEMORY,
	KERNEL_FILES, /* files and block devices */
	KERNEL_NETWORK,
	KERNEL_BPF,
	KERNEL_SUBCATEGORY_COUNT,
};

/* Subcategories of CATEGORY_IDLE: reasons of waits. */
enum idle_subcategory {
	IDLE_OTHER, /* any event, or an unknown reason */
	IDLE_TIMER, /* time to pass */
	IDLE_LOCK,
	IDLE_CONDITION, /* another thread's signal, post, arrival or end */
	IDLE_DISK,
	IDLE_FAULT, /* a page of memory to be read */
	IDLE_PIPE,
	IDLE_SOCKET,
	IDLE_CHILD,
	IDLE_PREEMPTED, /* other threads run in place of this one */
	IDLE_QUEUED, /* runnable, but no CPU is free */
	IDLE_SUBCATEGORY_COUNT,
	/* Waits for events or work, by design; only in labels. Files have IDLE_OTHER instead. */
	IDLE_FOR_WORK = IDLE_SUBCATEGORY_COUNT,
};

/* True for waits that block a thread, unlike waits for time, work or a CPU. */
static inline bool idle_is_blocked(uint8_t subcategory)
{
	return subcategory >= IDLE_LOCK && subcategory <= IDLE_CHILD;
}

/* True for waits for a CPU. */
static inline bool idle_is_runnable(uint8_t subcategory)
{
	return subcategory == IDLE_PREEMPTED || subcategory == IDLE_QUEUED;
}

extern const struct category_row *const categories[CATEGORY_COUNT];

/* Indexes into `categories`, or into the profile's own categories if it has any. */
struct frame_category {
	uint8_t category, subcategory; /* both 0 with CATEGORY_OF_CALLER */
};

/*
 * Returns the category and subcategory of each frame, by frame id; the caller frees it. Kernel
 * functions that serve all subsystems (copying, locking) get CATEGORY_OF_CALLER, unless they are
 * the outermost kernel frame of some stack.
 */
struct frame_category *categories_of_frames(const struct profile *p);
/* Finds them by rules, even if the profile has some. */
struct frame_category *categories_find(const struct profile *p);

/* Returns "" if the profile has no such category. */
const char *category_name(const struct profile *p, uint8_t category);
/* Returns NULL if the category, which must exist, has only one subcategory. */
const char *subcategory_name(const struct profile *p, struct frame_category of);

/* Frames without code: the reason of a wait, or a span reported by the program. */

/*
 * Like frames_intern(), for a frame with only a name and a category. Adds the category if the
 * profile has its own categories and lacks it.
 */
frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category);
