/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/time_range.h"

/* 2000-01-01: smaller times since the Unix epoch come from a different clock. */
#define WALL_CLOCK_MIN (946684800 * 1000000000ull)

/* The known times; `last` is the start of the last row. */
struct known_times {
	struct time_range range;
	uint64_t last;
};

static void include(struct known_times *known, uint64_t time, uint64_t end)
{
	if (time == CLOCK_NO_TIME)
		return;
	known->range.start = MIN(known->range.start, time);
	known->last = MAX(known->last, time);
	known->range.end = MAX(known->range.end, end);
}

/* Returns the time that a row of samples represents; weights of events are not times. */
static uint64_t weighed(const struct sample *sample, uint64_t interval)
{
	uint64_t length;

	if (sample->event || !sample->weight ||
	    __builtin_mul_overflow(sample->weight, interval, &length) || !clock_can_show(length))
		return interval;
	return length;
}

/*
 * Returns the end of the last row. A row is at the start of the time it represents, except for a
 * wait's, which covers the time since the previous row.
 */
static uint64_t end_of(const struct sample *last, const struct sample *before, uint64_t interval)
{
	uint64_t length = weighed(last, interval), gap;

	gap = before ? last->time - before->time : 0;
	gap -= before && weighed(before, interval) < gap ? weighed(before, interval) : gap;
	return last->time +
	       (gap + interval >= length && gap <= length + interval ? interval : length);
}

static void include_samples(const struct profile *p, const struct samples *samples,
			    struct known_times *known)
{
	struct sample last = {.time = CLOCK_NO_TIME}, before = last;

	samples_for_each_back(samples, sample) {
		if (last.time == CLOCK_NO_TIME) {
			last = *sample;
		} else {
			before = *sample;
			break;
		}
	}
	if (last.time == CLOCK_NO_TIME)
		return;
	include(known, samples_first_time(samples), 0);
	include(known, last.time,
		end_of(&last, before.time == CLOCK_NO_TIME ? NULL : &before, p->meta.interval_ns));
}

static void include_thread(const struct profile *p, const struct profile_thread *thread,
			   struct known_times *known)
{
	uint64_t interval = p->meta.interval_ns;
	/* Front-ends count markers in intervals only in the absence of samples. */
	uint64_t after = samples_count(&thread->samples) ? 0 : interval;

	include_samples(p, &thread->samples, known);
	vec_for_each(&thread->markers, const struct marker *, marker) {
		include(known, marker->start, marker->start + after);
		include(known, marker->end, marker->end + after);
	}
	vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
		include(known, row->time, row->time + interval);
		if (row->freed)
			include(known, row->freed, row->freed + interval);
	}
}

static struct known_times find_times(const struct profile *p)
{
	struct known_times known = {.range = {.start = CLOCK_NO_TIME}};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		include_thread(p, thread, &known);
	if (known.range.start != CLOCK_NO_TIME)
		return known;
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		vec_for_each(&counter->samples, const struct counter_sample *, sample)
			include(&known, sample->time, sample->time + p->meta.interval_ns);
	}
	return known;
}

/* Rows without a time come last, and are placed at the end of the known times. */
static void settle_samples(struct samples *samples, uint64_t last)
{
	size_t count = 0;
	struct sample *rows;

	if (samples_last_time(samples) != CLOCK_NO_TIME)
		return;
	if (samples_first_time(samples) != CLOCK_NO_TIME)
		last = samples_first_time(samples);
	rows = xreallocarray(NULL, samples_count(samples), sizeof(*rows));
	samples_for_each(samples, sample) {
		rows[count] = *sample;
		if (sample->time == CLOCK_NO_TIME)
			rows[count].time = last;
		last = rows[count++].time;
	}
	samples_take(samples, rows, count);
}

static void settle_thread(struct profile_thread *thread, const struct known_times *known)
{
	settle_samples(&thread->samples, known->last);
	vec_for_each(&thread->markers, struct marker *, marker) {
		/* The marker began before the first known time. */
		if (marker->start == CLOCK_NO_TIME && marker->end != CLOCK_NO_TIME)
			marker->start = known->range.start;
		if (marker->start == CLOCK_NO_TIME)
			marker->start = known->last;
		if (marker->end == CLOCK_NO_TIME)
			marker->end = marker->start;
	}
}

void profile_set_range(struct profile *p, const struct time_range *stated)
{
	struct profile_meta *meta = &p->meta;
	struct known_times known = find_times(p);

	if (known.range.start == CLOCK_NO_TIME)
		known = (struct known_times){{meta->start_ns, meta->start_ns}, meta->start_ns};
	vec_for_each(&p->threads.rows, struct profile_thread *, thread)
		settle_thread(thread, &known);
	/* Nothing is before the start of a profile. */
	if (stated)
		known.range = (struct time_range){
			stated->start < known.range.start ? stated->start : known.range.start,
			stated->end,
		};
	if (meta->start_realtime_ns < WALL_CLOCK_MIN || !clock_can_show(meta->start_realtime_ns))
		meta->start_realtime_ns = 0;
	else if (known.range.start > meta->start_ns)
		meta->start_realtime_ns += known.range.start - meta->start_ns;
	meta->start_ns = known.range.start;
	meta->end_ns = known.range.end;
}
