/* SPDX-License-Identifier: MIT */
#include "lib/profile/wait_sums.h"

#include <string.h>

/* Finds what a category of the profile's own is called here; CATEGORY_OTHER: none of waits. */
static struct frame_category by_name(const struct profile *p, struct frame_category of)
{
	const struct profile_category *row;
	uint8_t category = CATEGORY_IDLE;

	if (of.category >= p->categories.count)
		return (struct frame_category){CATEGORY_OTHER, 0};
	row = &p->categories.items[of.category];
	while (category <= CATEGORY_RUNNABLE && strcmp(row->name, categories[category]->name) != 0)
		category++;
	if (category > CATEGORY_RUNNABLE)
		return (struct frame_category){CATEGORY_OTHER, 0};
	for (uint8_t i = 0; categories[category]->subcategories[i]; i++) {
		if (of.subcategory < row->subcategories.count &&
		    strcmp(row->subcategories.items[of.subcategory],
			   categories[category]->subcategories[i]) == 0)
			return (struct frame_category){category, i};
	}
	return (struct frame_category){category, 0};
}

void wait_sums_add(struct wait_sums *sums, const struct profile *p, const struct sample *sample)
{
	struct frame_category category;
	const struct frame *frame;

	if (!profile_is_wait(p, sample))
		return;
	frame = &p->frames.rows.items[p->stacks.rows.items[sample->stack].frame];
	category = (struct frame_category){frame->category, frame->subcategory};
	if (p->categories.count)
		category = by_name(p, category);
	sums->rows++;
	if (category.category == CATEGORY_IDLE)
		sums->idle += sample->weight;
	else if (category.category == CATEGORY_RUNNABLE)
		sums->runnable += sample->weight;
	else if (category.category == CATEGORY_BLOCKED)
		sums->blocked += sample->weight;
	if (category.category == CATEGORY_BLOCKED)
		sums->blocked_by[category.subcategory] += sample->weight;
}

struct wait_sums wait_sums_of(const struct profile *p)
{
	struct wait_sums sums = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->samples, const struct sample *, sample)
			wait_sums_add(&sums, p, sample);
	}
	return sums;
}
