/* SPDX-License-Identifier: MIT */
/*
 * Older files have waits in three categories, "Idle", "Blocked" and "Runnable". They become one,
 * with what the thread waited for as its subcategory, so that old and new files say the same.
 */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/format/firefox/read/internal.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/parked.h"

#define NO_CATEGORY UINT8_MAX

static uint8_t find_category(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->categories.count && i < NO_CATEGORY; i++) {
		if (strcmp(p->categories.items[i].name, name) == 0)
			return (uint8_t)i;
	}
	return NO_CATEGORY;
}

static const char *subcategory_of(const struct profile *p, const struct frame *frame)
{
	const struct profile_category *row = &p->categories.items[frame->category];

	return frame->subcategory < row->subcategories.count
		       ? row->subcategories.items[frame->subcategory]
		       : "";
}

/* Older files did not tell sleeps from other waits that block nobody, but by their labels. */
static bool is_sleep(const struct profile *p, const struct frame *frame)
{
	const char *name;

	if (frame->func == NO_FUNC)
		return false;
	name = strings_get(&p->strings, p->funcs.rows.items[frame->func].name);
	return strcmp(name, "[clock_nanosleep]") == 0 || strcmp(name, "[nanosleep]") == 0;
}

static uint8_t new_subcategory(const struct profile *p, const struct frame *frame, bool was_idle)
{
	const char *const *names = categories[CATEGORY_IDLE]->subcategories;
	const char *name = subcategory_of(p, frame);

	if (was_idle && is_sleep(p, frame))
		return IDLE_TIMER;
	for (uint8_t i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return IDLE_OTHER;
}

static void remove_category(struct profile *p, uint8_t category)
{
	struct profile_category *row = &p->categories.items[category];

	free(row->name);
	free(row->color);
	vec_for_each(&row->subcategories, char **, name)
		free(*name);
	vec_release(&row->subcategories);
	memmove(row, row + 1, (--p->categories.count - category) * sizeof(*row));
	vec_for_each(&p->frames.rows, struct frame *, frame)
		frame->category -= frame->category != CATEGORY_OF_CALLER &&
				   frame->category > category;
}

/* Adds Idle as it is now, at the end. */
static uint8_t add_idle(struct profile *p)
{
	const struct category_row *idle = categories[CATEGORY_IDLE];
	struct profile_category row = {.name = xstrdup(idle->name), .color = xstrdup(idle->color)};

	for (const char *const *name = idle->subcategories; *name; name++)
		vec_push(&row.subcategories, xstrdup(*name));
	vec_push(&p->categories, row);
	return (uint8_t)(p->categories.count - 1);
}

/* Returns the stack's innermost frame that is neither a label nor the kernel's. */
static stack_id own_code(const struct profile *p, stack_id id)
{
	while (id != NO_STACK) {
		const struct stack *stack = &p->stacks.rows.items[id];
		uint8_t kind = p->frames.rows.items[stack->frame].kind;

		if (kind != PROFILE_FRAME_LABEL && kind != PROFILE_FRAME_KERNEL)
			break;
		id = stack->parent;
	}
	return id;
}

/*
 * Older files have threads that wait for work in Lock or Condition. Labels of such stacks become
 * others, each appended once.
 */
static void mark_parked(struct profile *p, uint8_t idle)
{
	static const uint8_t subcategories[] = {
		[PARKED_FOR_WORK] = IDLE_OTHER, [PARKED_FOR_TIME] = IDLE_TIMER};
	size_t first = p->frames.rows.count;

	vec_for_each(&p->stacks.rows, struct stack *, stack) {
		struct frame label = p->frames.rows.items[stack->frame];
		enum parked parked;
		size_t id = first;

		if (label.kind != PROFILE_FRAME_LABEL || label.category != idle ||
		    (label.subcategory != IDLE_LOCK && label.subcategory != IDLE_CONDITION))
			continue;
		parked = parked_of_stack(p, own_code(p, stack->parent));
		if (parked == PARKED_NOT)
			continue;
		label.subcategory = subcategories[parked];
		while (id < p->frames.rows.count &&
		       (p->frames.rows.items[id].func != label.func ||
			p->frames.rows.items[id].subcategory != label.subcategory))
			id++;
		if (id == p->frames.rows.count)
			vec_push(&p->frames.rows, label);
		stack->frame = (frame_id)id;
	}
}

void import_join_waits(struct import *r)
{
	static const char *const names[] = {"Blocked", "Runnable", "Idle"};
	struct profile *p = r->profile;
	uint8_t idle = find_category(p, "Idle"), old, joined;

	if (p->categories.count >= NO_CATEGORY - 1 ||
	    (find_category(p, "Blocked") == NO_CATEGORY &&
	     find_category(p, "Runnable") == NO_CATEGORY &&
	     (idle == NO_CATEGORY || p->categories.items[idle].subcategories.count > 1)))
		return;
	joined = add_idle(p);
	vec_for_each(&p->frames.rows, struct frame *, frame) {
		if (frame->category == CATEGORY_OF_CALLER)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (frame->category == joined ||
			    strcmp(p->categories.items[frame->category].name, names[i]) != 0)
				continue;
			frame->subcategory = new_subcategory(p, frame, frame->category == idle);
			frame->category = joined;
		}
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		old = find_category(p, names[i]);
		if (old != NO_CATEGORY && (size_t)old + 1 < p->categories.count)
			remove_category(p, old);
	}
	mark_parked(p, (uint8_t)(p->categories.count - 1));
}
