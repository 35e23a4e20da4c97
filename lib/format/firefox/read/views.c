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
	size_t left = thread->samples.count, right = samples->rows.count;
	struct sample *items;

	vec_reserve(&thread->samples, left + right);
	items = thread->samples.items;
	thread->samples.count = left + right;
	for (size_t at = left + right; right; at--) {
		const struct sample *sample = &samples->rows.items[right - 1];

		if (left && items[left - 1].time > sample->time) {
			items[at - 1] = items[--left];
			continue;
		}
		items[at - 1] = *sample;
		/* Derived from the event's rate, for drawing only. */
		items[at - 1].cpu_delta = 0;
		items[at - 1].event = event;
		count->samples++;
		count->weight += sample->weight;
		right--;
	}
}

struct sample_ref {
	thread_id thread;
	uint32_t sample;
};

struct clock_samples {
	struct profile *profile;
	VEC(struct sample_ref) refs;
	VEC(struct radix_row) times;
};

static void list_samples(struct clock_samples *list)
{
	struct threads *threads = &list->profile->threads;

	for (thread_id id = 0; id < threads->rows.count; id++) {
		const struct profile_thread *thread = &threads->rows.items[id];

		for (size_t i = 0; i < thread->samples.count; i++) {
			const struct sample *sample = &thread->samples.items[i];

			if (sample->event || list->refs.count == UINT32_MAX)
				continue;
			vec_push(&list->times,
				 (struct radix_row){sample->time, (uint32_t)list->refs.count});
			vec_push(&list->refs, (struct sample_ref){id, (uint32_t)i});
		}
	}
	if (list->times.count)
		radix_sort(list->times.items, list->times.count);
}

static struct sample *sample_at(const struct clock_samples *list, size_t row)
{
	struct sample_ref ref = list->refs.items[list->times.items[row].value];

	return &list->profile->threads.rows.items[ref.thread].samples.items[ref.sample];
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
		struct sample *found = sample_at(list, first + i);

		if (found->time != sample->time)
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
	vec_release(&list.refs);
	vec_release(&list.times);
	/* Stacks with programs are made when it is written. */
	profile_drop_unused(r->profile);
}
