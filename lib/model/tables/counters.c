/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/counters.h"

void profile_counters_release(struct profile_counters *c)
{
	vec_for_each(&c->rows, struct counter *, counter)
		vec_release(&counter->samples);
	vec_release(&c->rows);
}

counter_id profile_counters_add(struct profile_counters *c, const struct counter *like)
{
	if (c->rows.count == COUNTERS_MAX)
		return NO_COUNTER;
	vec_push(&c->rows, *like);
	return (counter_id)(c->rows.count - 1);
}

void counter_add_sample(struct counter *counter, uint64_t time, int64_t delta)
{
	const struct counter_sample sample = {time, delta};
	size_t count = counter->samples.count, at = count;

	if (count && counter->samples.items[count - 1].time >= time)
		at = vec_count_front(&counter->samples, it, it->time < time);
	if (at < count && counter->samples.items[at].time == time) {
		counter->samples.items[at].delta = counter_add(counter->samples.items[at].delta,
							       delta);
		return;
	}
	vec_push(&counter->samples, sample);
	memmove(counter->samples.items + at + 1, counter->samples.items + at,
		(count - at) * sizeof(*counter->samples.items));
	counter->samples.items[at] = sample;
}

size_t counter_halve(struct counter *counter)
{
	struct counter_sample *samples = counter->samples.items;
	size_t count = counter->samples.count, kept = count != 0;

	for (size_t i = 1; i < count; i += 2) {
		struct counter_sample sample = samples[i];

		if (i + 1 < count) {
			sample.time = samples[i + 1].time;
			sample.delta = counter_add(sample.delta, samples[i + 1].delta);
		}
		samples[kept++] = sample;
	}
	counter->samples.count = kept;
	vec_fit(&counter->samples);
	return count - kept;
}
