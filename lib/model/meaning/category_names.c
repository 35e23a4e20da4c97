/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/categories.h"

/* Names of categories, and categories that a profile has already: all that a page needs. */

static const char *const only_other[] = {"Other", NULL};
static const char *const of_user[USER_SUBCATEGORY_COUNT + 1] = {
	[USER_OTHER] = "Other",	    [USER_GUESS] = "Guess",	  [USER_PROGRAM] = "Program",
	[USER_LIBC] = "C library",  [USER_LIBRARY] = "Libraries", [USER_JIT] = "JIT",
	[USER_UNNAMED] = "Unnamed",
};
static const char *const of_kernel[KERNEL_SUBCATEGORY_COUNT + 1] = {
	[KERNEL_OTHER] = "Other",
	[KERNEL_SYSCALL] = "System call",
	[KERNEL_FAULT] = "Fault",
	[KERNEL_INTERRUPT] = "Interrupt",
	[KERNEL_SCHEDULER] = "Scheduler",
	[KERNEL_MEMORY] = "Memory",
	[KERNEL_FILES] = "Files",
	[KERNEL_NETWORK] = "Network",
	[KERNEL_BPF] = "BPF",
};

static const char *const of_idle[IDLE_SUBCATEGORY_COUNT + 1] = {
	[IDLE_OTHER] = "Other",		[IDLE_TIMER] = "Timer",	  [IDLE_LOCK] = "Lock",
	[IDLE_CONDITION] = "Condition", [IDLE_DISK] = "Disk",	  [IDLE_FAULT] = "Page fault",
	[IDLE_PIPE] = "Pipe",		[IDLE_SOCKET] = "Socket", [IDLE_CHILD] = "Child",
	[IDLE_PREEMPTED] = "Preempted", [IDLE_QUEUED] = "Queued",
};

static const struct category_row other = {"Other", "grey", only_other};
static const struct category_row user = {"User", "yellow", of_user};
static const struct category_row kernel = {"Kernel", "orange", of_kernel};
static const struct category_row idle = {"Idle", "transparent", of_idle};

#define LANGUAGE(NAME, name, title) [CATEGORY_##NAME] = &language_##name.category,
const struct category_row *const categories[CATEGORY_COUNT] = {
	[CATEGORY_OTHER] = &other,
	[CATEGORY_USER] = &user,
	[CATEGORY_KERNEL] = &kernel,
	[CATEGORY_IDLE] = &idle,
#include "lib/model/languages/languages.def"
};
#undef LANGUAGE

const char *category_name(const struct profile *p, uint8_t category)
{
	if (p->categories.count)
		return category < p->categories.count ? p->categories.items[category].name : "";
	return category < CATEGORY_COUNT ? categories[category]->name : "";
}

const char *subcategory_name(const struct profile *p, struct frame_category of)
{
	const struct profile_category *row;

	if (!p->categories.count)
		return categories[of.category]->subcategories[1]
			       ? categories[of.category]->subcategories[of.subcategory]
			       : NULL;
	row = &p->categories.items[of.category];
	return row->subcategories.count > 1 && of.subcategory < row->subcategories.count
		       ? row->subcategories.items[of.subcategory]
		       : NULL;
}

static struct frame_category *own_categories(const struct profile *p)
{
	struct frame_category *of = xcalloc(p->frames.rows.count + 1, sizeof(*of)), *at = of;

	vec_for_each(&p->frames.rows, const struct frame *, frame)
		*at++ = (struct frame_category){frame->category, frame->subcategory};
	return of;
}

struct frame_category *categories_of_frames(const struct profile *p)
{
	return p->categories.count ? own_categories(p) : categories_find(p);
}

/* Finds the category among the profile's own, if it has any; adds it if it is missing there. */
static struct frame_category among_own(struct profile *p, struct frame_category of)
{
	const struct category_row *known = categories[of.category];
	struct profile_category *row;
	size_t i = 0, k = 0;

	if (!p->categories.count)
		return of;
	while (i < p->categories.count && strcmp(p->categories.items[i].name, known->name) != 0)
		i++;
	if (i == UINT8_MAX)
		return (struct frame_category){0, 0};
	if (i == p->categories.count) {
		row = vec_add_zeroed(&p->categories, 1);
		row->name = xstrdup(known->name);
		row->color = xstrdup(known->color);
		vec_push(&row->subcategories, xstrdup(known->subcategories[0]));
	}
	row = &p->categories.items[i];
	while (k < row->subcategories.count &&
	       strcmp(row->subcategories.items[k], known->subcategories[of.subcategory]) != 0)
		k++;
	return (struct frame_category){(uint8_t)i,
				       k < row->subcategories.count ? (uint8_t)k : (uint8_t)0};
}

frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category)
{
	const struct frame_category own = among_own(p, category);
	const struct func func = {
		.name = name,
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};
	const struct frame frame = {
		.module = NO_MODULE,
		.func = funcs_intern(&p->funcs, &func),
		.symbol = NO_SYMBOL,
		.kind = PROFILE_FRAME_LABEL,
		.category = own.category,
		.subcategory = own.subcategory,
	};

	return frames_intern(&p->frames, &frame);
}
