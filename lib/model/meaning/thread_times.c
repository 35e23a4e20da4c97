/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/thread_times.h"

/* A time that the next sample may extend. */
struct open_time {
	struct thread_time of;
	bool is_first; /* row of a wait's start, which may have another one at its end */
	bool has_end; /* `end` is not an estimate */
};

/* A tick represents the time before it, the row of a wait the time after it. */
static struct open_time open_time(const struct profile *p, const struct sample *sample)
{
	uint64_t length, begin = p->meta.start_ns;
	struct open_time time = {.of = {.wait = NO_STACK, .reason = -1, .cpu = sample->cpu}};

	if (__builtin_mul_overflow(sample->weight, p->meta.interval_ns, &length) ||
	    !clock_can_show(length))
		length = CLOCK_TIME_MAX;
	if (profile_is_wait(p, sample)) {
		time.of.start = sample->time;
		time.of.end = sample->time + length;
		time.of.wait = sample->stack;
		time.of.reason = wait_reason(p, sample);
		time.is_first = sample->weight == 1;
	} else {
		time.of.start = sample->time > begin + length ? sample->time - length
							      : MIN(begin, sample->time);
		time.of.end = sample->time;
		time.has_end = true;
	}
	return time;
}

/*
 * Returns true if `next` continues the open time: a wait has rows at its start and end, running has
 * many.
 */
static bool join(struct open_time *open, const struct open_time *next, uint32_t weight,
		 uint64_t interval)
{
	if (open->of.wait != next->of.wait)
		return false;
	if (next->of.wait == NO_STACK) {
		if (open->of.cpu != next->of.cpu || next->of.start > open->of.end + interval / 2)
			return false;
		open->of.end = next->of.end;
		return true;
	}
	if (!open->is_first || next->of.start - open->of.start > (weight + 2ull) * interval)
		return false;
	open->of.end = next->of.start;
	open->is_first = false;
	open->has_end = true;
	return true;
}

/* Places the estimated ends between two times. */
static void separate(struct open_time *open, struct open_time *next, uint64_t interval)
{
	struct thread_time *a = &open->of, *b = &next->of;

	/* A wait within an interval ends the running time before the next tick could. */
	if (a->wait == NO_STACK && b->start > a->end && b->start - a->end < interval)
		a->end = b->start;
	if (b->wait != NO_STACK) {
		a->end = MIN(a->end, b->start);
		return;
	}
	if (!open->has_end && a->end > b->start) {
		uint64_t low = MAX(a->start, b->start), high = MIN(a->end, b->end);

		a->end = low + (high - low) / 2;
	}
	b->start = MIN(MAX(b->start, a->end), b->end);
}

static void pass(const struct thread_time *time, thread_time_fn *take, void *ctx)
{
	if (time->start < time->end)
		take(ctx, time);
}

void thread_times_each(const struct profile *p, const struct profile_thread *thread,
		       thread_time_fn *take, void *ctx)
{
	uint64_t interval = p->meta.interval_ns;
	struct open_time open = {0}, next;
	bool has_open = false;

	samples_for_each(&thread->samples, sample) {
		if (sample->event || !sample->weight)
			continue;
		next = open_time(p, sample);
		if (has_open && join(&open, &next, sample->weight, interval))
			continue;
		if (has_open) {
			separate(&open, &next, interval);
			pass(&open.of, take, ctx);
		}
		open = next;
		has_open = true;
	}
	if (has_open)
		pass(&open.of, take, ctx);
}

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
	frame = profile_frame_of(p, sample->stack);
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
