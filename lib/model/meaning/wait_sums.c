/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/wait_sums.h"

/* Finds the wait category for a category of the profile; false if it is not a wait. */
static bool find_subcategory(const struct profile *p, struct frame_category *of)
{
	const struct profile_category *row;
	const char *const *names = categories[CATEGORY_IDLE]->subcategories;

	if (!p->categories.count)
		return of->category == CATEGORY_IDLE;
	if (of->category >= p->categories.count)
		return false;
	row = &p->categories.items[of->category];
	if (strcmp(row->name, categories[CATEGORY_IDLE]->name) != 0)
		return false;
	for (uint8_t i = 0; of->subcategory < row->subcategories.count && names[i]; i++) {
		if (strcmp(row->subcategories.items[of->subcategory], names[i]) == 0) {
			of->subcategory = i;
			return true;
		}
	}
	of->subcategory = IDLE_OTHER;
	return true;
}

int wait_reason(const struct profile *p, const struct sample *sample)
{
	const struct frame *frame;
	struct frame_category of;

	if (!profile_is_wait(p, sample))
		return -1;
	frame = &p->frames.rows.items[p->stacks.rows.items[sample->stack].frame];
	of = (struct frame_category){frame->category, frame->subcategory};
	return find_subcategory(p, &of) ? of.subcategory : -1;
}

void wait_sums_add(struct wait_sums *sums, const struct profile *p, const struct sample *sample)
{
	int reason;

	if (!profile_is_wait(p, sample))
		return;
	sums->rows++;
	reason = wait_reason(p, sample);
	if (reason < 0)
		return;
	if (idle_is_runnable((uint8_t)reason)) {
		sums->runnable += sample->weight;
	} else if (idle_is_blocked((uint8_t)reason)) {
		sums->blocked += sample->weight;
		sums->blocked_by[reason] += sample->weight;
	} else {
		sums->idle += sample->weight;
	}
}

struct wait_sums wait_sums_of(const struct profile *p)
{
	struct wait_sums sums = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample)
			wait_sums_add(&sums, p, sample);
	}
	return sums;
}

uint64_t wait_sums_ran(const struct profile *p)
{
	uint64_t ran = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample)
			ran += sample->cpu_delta;
	}
	return ran;
}
