/* SPDX-License-Identifier: MIT */
#include "lib/profile/threads.h"

/* Recordings have millions of samples. */
_Static_assert(sizeof(struct sample) == 24, "grown");

void threads_release(struct threads *t)
{
	vec_for_each(&t->rows, struct profile_thread *, row) {
		vec_release(&row->samples);
		vec_release(&row->markers);
	}
	vec_release(&t->rows);
}

thread_id threads_add(struct threads *t, const struct profile_thread *thread)
{
	vec_push(&t->rows, *thread);
	return (thread_id)(t->rows.count - 1);
}

struct profile_thread *threads_get(struct threads *t, thread_id id)
{
	return &t->rows.items[id];
}

size_t profile_thread_sample_after(const struct profile_thread *row, uint64_t time)
{
	return vec_count_front(&row->samples, it, it->time <= time);
}

void profile_thread_add_sample(struct profile_thread *row, const struct sample *sample)
{
	size_t count = row->samples.count, at = count;

	if (count && row->samples.items[count - 1].time > sample->time)
		at = profile_thread_sample_after(row, sample->time);
	vec_push(&row->samples, *sample);
	if (at == count)
		return;
	memmove(row->samples.items + at + 1, row->samples.items + at,
		(count - at) * sizeof(*row->samples.items));
	row->samples.items[at] = *sample;
}

/* Returns the last tick before that sample, or NULL. */
static struct sample *tick_before(struct sample *samples, size_t at)
{
	while (at-- > 0) {
		if (!samples[at].event)
			return &samples[at];
	}
	return NULL;
}

void samples_settle_cpu_deltas(struct sample *samples, size_t count)
{
	struct sample *tick = tick_before(samples, count), *before;
	uint64_t excess = 0;

	for (; tick && (before = tick_before(samples, (size_t)(tick - samples))); tick = before) {
		uint64_t used = tick->cpu_delta + excess;
		uint64_t passed = tick->time - before->time;

		excess = used > passed ? used - passed : 0;
		used -= excess;
		tick->cpu_delta = used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
	}
}
