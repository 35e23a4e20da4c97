/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/categories.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/model/meaning/kernel_subsystems.h"

/* Neither known nor looked for yet. */
#define NOT_ASKED UINT8_MAX

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

#define LANGUAGE(NAME, name) [CATEGORY_##NAME] = &language_##name.category,
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

/* Findings by module and by function, of which there are fewer than frames. */
struct classes {
	const struct profile *profile;
	struct kernel_subsystems *subsystems;
	uint8_t *modules; /* enum user_subcategory by module_id */
	uint8_t *funcs; /* enum kernel_subcategory by func_id, or KERNEL_SUBSYSTEM_ANY */
	/* By frame_id: every stack with the frame has a kernel frame above it. */
	bool *has_kernel_caller;
};

/* Only its name distinguishes a library from a position-independent program. */
static bool is_library(const char *name)
{
	return strstr(name, ".so.") || text_ends_with(name, ".so") ||
	       text_ends_with(name, ".node") || text_ends_with(name, ".dll");
}

static uint8_t class_of_module(const struct profile *p, const struct module *module)
{
	const char *name = strings_get(&p->strings, module->name);

	if (module->kind == PROFILE_MODULE_ANON || module->kind == PROFILE_MODULE_CODE_DUMP ||
	    text_starts_with(strings_get(&p->strings, module->path), "/memfd:"))
		return USER_JIT;
	if (module->kind == PROFILE_MODULE_VDSO || module_name_is_c_library(name))
		return USER_LIBC;
	return is_library(name) ? USER_LIBRARY : USER_PROGRAM;
}

/* Frames that no symbolizer has been asked about may still get a name from a reader. */
static bool is_nameless(const struct profile *p, const struct frame *frame)
{
	return frame->func != NO_FUNC && !p->funcs.rows.items[frame->func].is_named;
}

static uint8_t user_subcategory(struct classes *c, const struct frame *frame)
{
	const struct profile *p = c->profile;
	uint8_t *class;

	if (frame->kind == PROFILE_FRAME_GUESS)
		return USER_GUESS;
	if (frame->module == NO_MODULE)
		return is_nameless(p, frame) ? USER_UNNAMED : USER_OTHER;
	class = &c->modules[frame->module];
	if (*class == NOT_ASKED)
		*class = class_of_module(p, &p->modules.rows.items[frame->module]);
	return *class != USER_JIT && is_nameless(p, frame) ? USER_UNNAMED : *class;
}

/* Falls back to the name of the module if the function's name does not tell the subsystem. */
static uint8_t area_of_func(const struct classes *c, const struct func *func)
{
	const struct profile *p = c->profile;
	const struct module *module = func->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[func->module];
	const char *file = NULL;
	uint8_t subsystem;

	if (func->file != NO_SOURCE_FILE)
		file = strings_get(&p->strings, p->source_files.rows.items[func->file].path);
	subsystem = kernel_subsystems_of_function(c->subsystems,
						  strings_get(&p->strings, func->name), file);
	if (subsystem == KERNEL_SUBSYSTEM_ANY && module &&
	    module->kind == PROFILE_MODULE_KERNEL_MODULE)
		subsystem = kernel_subsystems_of_module(c->subsystems,
							strings_get(&p->strings, module->name));
	return subsystem;
}

static struct frame_category kernel_category(struct classes *c, frame_id id)
{
	const struct frame *frame = &c->profile->frames.rows.items[id];
	uint8_t subsystem = KERNEL_SUBSYSTEM_ANY;

	if (frame->func != NO_FUNC) {
		uint8_t *known = &c->funcs[frame->func];

		if (*known == NOT_ASKED)
			*known = area_of_func(c, &c->profile->funcs.rows.items[frame->func]);
		subsystem = *known;
	}
	if (subsystem != KERNEL_SUBSYSTEM_ANY)
		return (struct frame_category){CATEGORY_KERNEL, subsystem};
	if (c->has_kernel_caller[id])
		return (struct frame_category){CATEGORY_OF_CALLER, 0};
	return (struct frame_category){CATEGORY_KERNEL, KERNEL_OTHER};
}

static struct frame_category language_category(const struct frame *frame)
{
	return (struct frame_category){
		.category = CATEGORY_BEFORE_LANGUAGES + frame->language,
		.subcategory = frame->tier,
	};
}

static struct frame_category label_category(const struct frame *frame)
{
	struct frame_category of = {frame->category, frame->subcategory};

	if (of.category == CATEGORY_IDLE && of.subcategory == IDLE_FOR_WORK)
		of.subcategory = IDLE_OTHER;
	return of;
}

static void find_kernel_callers(struct classes *c)
{
	const struct stacks *stacks = &c->profile->stacks;
	const struct frame *frames = c->profile->frames.rows.items;

	memset(c->has_kernel_caller, true, c->profile->frames.rows.count);
	vec_for_each(&stacks->rows, const struct stack *, stack) {
		const struct stack *parent = &stacks->rows.items[stack->parent];

		if (stack->parent == NO_STACK || frames[parent->frame].kind != PROFILE_FRAME_KERNEL)
			c->has_kernel_caller[stack->frame] = false;
	}
}

static void *new_filled(size_t count)
{
	return memset(xmalloc(count + 1), NOT_ASKED, count + 1);
}

static struct frame_category *own_categories(const struct profile *p)
{
	struct frame_category *of = xcalloc(p->frames.rows.count + 1, sizeof(*of)), *at = of;

	vec_for_each(&p->frames.rows, const struct frame *, frame)
		*at++ = (struct frame_category){frame->category, frame->subcategory};
	return of;
}

static struct frame_category *find_categories(const struct profile *p)
{
	size_t count = p->frames.rows.count;
	struct frame_category *of = xcalloc(count + 1, sizeof(*of));
	struct classes c = {
		.profile = p,
		.subsystems = kernel_subsystems_new(),
		.modules = new_filled(p->modules.rows.count),
		.funcs = new_filled(p->funcs.rows.count),
		.has_kernel_caller = xcalloc(count + 1, sizeof(bool)),
	};

	find_kernel_callers(&c);
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &p->frames.rows.items[i];

		if (frame->kind == PROFILE_FRAME_LABEL)
			of[i] = label_category(frame);
		else if (frame->kind == PROFILE_FRAME_KERNEL)
			of[i] = kernel_category(&c, (frame_id)i);
		else if (frame->language != LANGUAGE_NONE)
			of[i] = language_category(frame);
		else
			of[i] = (struct frame_category){CATEGORY_USER, user_subcategory(&c, frame)};
	}
	kernel_subsystems_free(c.subsystems);
	free(c.modules);
	free(c.funcs);
	free(c.has_kernel_caller);
	return of;
}

struct frame_category *categories_of_frames(const struct profile *p)
{
	return p->categories.count ? own_categories(p) : find_categories(p);
}
