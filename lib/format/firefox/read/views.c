/* SPDX-License-Identifier: MIT */
/* Adds the contents of views to the samples of their threads. */
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/radix.h"
#include "lib/format/firefox/read/internal.h"

/* Number of features before the events: "stackwalk", "cpu", and the clock. */
#define FEATURES_BEFORE_EVENTS 3
/* Samples searched per time, so that a file of equal times costs no more than others. */
#define SAME_TIME_MAX 64

/* Numbers events as the recording did, if its features tell. */
static void find_events(struct import *r)
{
	const struct profile_meta *meta = &r->profile->meta;

	if (r->events.count)
		return;
	for (size_t i = FEATURES_BEFORE_EVENTS;
	     i < meta->features.count && r->events.count < EVENT_COUNTS_MAX; i++)
		vec_push(&r->events, xstrdup(meta->features.items[i]));
}

uint8_t import_event(struct import *r, const char *name)
{
	struct event_count *count;
	size_t row = 0;

	find_events(r);
	while (row < r->events.count && strcmp(r->events.items[row], name) != 0)
		row++;
	if (row + 1 >= EVENT_COUNTS_MAX)
		return 0;
	if (row == r->events.count)
		vec_push(&r->events, xstrdup(name));
	count = event_counts_get(&r->profile->events, (uint32_t)row + 1);
	count->name = strings_intern(&r->profile->strings, name);
	return (uint8_t)(row + 1);
}

void import_add_event(struct import *r, struct profile_thread *thread,
		      const struct sample_list *samples, uint8_t event)
{
	struct event_count *count = event_counts_get(&r->profile->events, event);
	struct samples of_event = {0};

	vec_for_each(&samples->rows, const struct sample *, row) {
		struct sample sample = *row;

		/* Derived from the event's rate, for drawing only. */
		sample.cpu_delta = 0;
		sample.event = event;
		count->samples++;
		count->weight += sample.weight;
		samples_add(&of_event, &sample);
	}
	samples_merge(&thread->samples, &of_event);
}

/* A sample of the clock, of any thread. */
struct clock_sample {
	stack_id stack;
	uint16_t cpu;
};

struct clock_samples {
	struct profile *profile;
	VEC(struct clock_sample) rows; /* in order of threads */
	VEC(struct radix_row) times;
};

static void list_samples(struct clock_samples *list)
{
	vec_for_each(&list->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->event || list->rows.count == UINT32_MAX)
				continue;
			vec_push(&list->times,
				 (struct radix_row){sample->time, (uint32_t)list->rows.count});
			vec_push(&list->rows, (struct clock_sample){sample->stack, sample->cpu});
		}
	}
	if (list->times.count)
		radix_sort(list->times.items, list->times.count);
}

/* Gives the samples their CPUs, in the order in which they were listed. */
static void set_cpus(const struct clock_samples *list)
{
	size_t row = 0;

	vec_for_each(&list->profile->threads.rows, struct profile_thread *, thread) {
		samples_change_each(&thread->samples, sample) {
			if (!sample->event && row < list->rows.count)
				sample->cpu = list->rows.items[row++].cpu;
		}
	}
}

/* Is the stack of a CPU's row that of the thread, below a frame of its program or without one? */
static bool is_same_stack(const struct stacks *stacks, stack_id thread, stack_id cpu)
{
	while (thread != cpu && thread != NO_STACK && cpu != NO_STACK) {
		if (stacks->rows.items[thread].frame != stacks->rows.items[cpu].frame)
			return false;
		thread = stacks->rows.items[thread].parent;
		cpu = stacks->rows.items[cpu].parent;
	}
	return thread == cpu || (thread == NO_STACK && stacks->rows.items[cpu].parent == NO_STACK);
}

static void place_sample(const struct clock_samples *list, const struct sample *sample,
			 uint16_t cpu)
{
	size_t first = vec_count_front(&list->times, it, it->key < sample->time);

	for (size_t i = 0; i < SAME_TIME_MAX && first + i < list->times.count; i++) {
		const struct radix_row *time = &list->times.items[first + i];
		struct clock_sample *found = &list->rows.items[time->value];

		if (time->key != sample->time)
			return;
		if (found->cpu == NO_CPU &&
		    is_same_stack(&list->profile->stacks, found->stack, sample->stack)) {
			found->cpu = cpu;
			return;
		}
	}
}

void import_apply_cpus(struct import *r)
{
	struct clock_samples list = {.profile = r->profile};

	if (!r->cpus.count)
		return;
	list_samples(&list);
	vec_for_each(&r->cpus, const struct cpu_view *, view) {
		vec_for_each(&view->samples.rows, const struct sample *, sample)
			place_sample(&list, sample, view->cpu);
	}
	set_cpus(&list);
	vec_release(&list.rows);
	vec_release(&list.times);
	/* Stacks with programs are made when it is written. */
	profile_drop_unused(r->profile);
}
