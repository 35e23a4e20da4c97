/* SPDX-License-Identifier: MIT */
#include "lib/query/select.h"

/* With 2 bins or more, the bin of a sample lies within the span that the sample represents. */
#define BINS_PER_INTERVAL 4
/* Bins get longer beyond that; each takes 4 bytes. */
#define BINS_MAX ((size_t)1 << 24)
/* Level of a thread that runs during all of a bin. */
#define WHOLE 256
/* Maximum distance of ticks that may have been merged into the last of them. */
#define MERGED_NS 100000000u
/* Longer than the interval of any recorder, and short enough for sums of times not to overflow. */
#define INTERVAL_MAX 3600000000000u

/* Distances of an event's samples, to find the usual one: 8 buckets for each power of two. */
#define BUCKET_BITS 3
#define BUCKETS ((64 - BUCKET_BITS + 1) << BUCKET_BITS)

struct finder {
	struct parallelism *x;
	const struct query *q;
	uint8_t event;
	uint64_t interval; /* time that a sample of weight 1 represents */
};

static bool is_run(const struct query *q, const struct sample *sample, uint8_t event)
{
	return sample->event == event && sample->weight &&
	       (sample->stack == NO_STACK || query_wait_of(q, sample->stack) == QUERY_RUNS);
}

static bool has_runs(const struct query *q, uint8_t event)
{
	vec_for_each(&q->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (is_run(q, sample, event))
				return true;
		}
	}
	return false;
}

static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift = 0;

	while (value >> shift >= 2 << BUCKET_BITS)
		shift++;
	return (shift << BUCKET_BITS) + (uint32_t)(value >> shift);
}

static uint64_t bucket_start(uint32_t bucket)
{
	uint32_t shift = bucket >> BUCKET_BITS ? (bucket >> BUCKET_BITS) - 1 : 0;

	return (uint64_t)(bucket - (shift << BUCKET_BITS)) << shift;
}

/* Returns the median distance between samples of a thread, which hardly depends on its waits. */
static uint64_t usual_distance(const struct query *q, uint8_t event)
{
	uint64_t counts[BUCKETS + 1] = {0}, count = 0, passed = 0;
	uint32_t bucket = 0;

	vec_for_each(&q->profile->threads.rows, const struct profile_thread *, thread) {
		uint64_t before = UINT64_MAX;

		samples_for_each(&thread->samples, sample) {
			if (!is_run(q, sample, event))
				continue;
			if (sample->time > before) {
				counts[bucket_of(sample->time - before)]++;
				count++;
			}
			before = sample->time;
		}
	}
	if (!count)
		return q->profile->meta.interval_ns;
	while (passed + counts[bucket] <= count / 2)
		passed += counts[bucket++];
	return (bucket_start(bucket) + bucket_start(bucket + 1)) / 2;
}

/* Makes empty bins for the times of all samples. */
static void set_range(struct parallelism *x, const struct profile *p, uint64_t interval)
{
	uint64_t first = UINT64_MAX, last = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t start = samples_first_time(&thread->samples);
		uint64_t end = samples_last_time(&thread->samples);

		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	first = first > interval ? first - interval : 0;
	last = last < UINT64_MAX - interval ? last + interval : UINT64_MAX;
	x->from = first;
	x->bin_ns = interval / BINS_PER_INTERVAL;
	if ((last - first) / BINS_MAX >= x->bin_ns)
		x->bin_ns = (last - first) / BINS_MAX + 1;
	x->bins = (size_t)((last - first) / x->bin_ns) + 1;
	x->levels = xcalloc(x->bins + 1, sizeof(*x->levels));
}

/* Changes the level from that time on; the bin with the time gets its part. Differences wrap. */
static void add_step(struct parallelism *x, uint64_t time, uint32_t by)
{
	uint64_t at = time > x->from ? time - x->from : 0;
	size_t bin = (size_t)(at / x->bin_ns);
	uint32_t before = (uint32_t)(at % x->bin_ns * WHOLE / x->bin_ns);

	if (bin >= x->bins)
		return;
	x->levels[bin] += by * (WHOLE - before);
	x->levels[bin + 1] += by * before;
}

static uint64_t earlier(uint64_t time, uint64_t length)
{
	return time > length ? time - length : 0;
}

/* Returns the time that a sample represents. */
static uint64_t length_of(const struct finder *f, const struct sample *sample)
{
	uint64_t length;

	if (f->event)
		return f->interval;
	return __builtin_mul_overflow(f->interval, sample->weight, &length) ? UINT64_MAX : length;
}

/*
 * Adds the time that the thread's samples represent: half an interval on either side, and for
 * further weight the time before. A thread does not run twice at a time, unless it is a merged row
 * of several, so a sample's time ends where that of the next one begins. If earlier ticks were
 * added to the sample, theirs is the time before.
 */
static void add_thread(const struct finder *f, const struct profile_thread *thread)
{
	uint64_t limit = UINT64_MAX;

	samples_for_each_back(&thread->samples, sample) {
		uint64_t length = length_of(f, sample), from, until, earliest;

		if (!is_run(f->q, sample, f->event))
			continue;
		until = sample->time + f->interval / 2;
		from = earlier(until, length);
		if (until > limit && !thread->is_folded) {
			earliest = earlier(until, length > MERGED_NS ? length : MERGED_NS);
			until = limit;
			if (length > f->interval)
				from = earlier(until, length);
			from = from > earliest ? from : earliest;
		}
		if (from >= until)
			continue;
		add_step(f->x, from, 1);
		add_step(f->x, until, -1u);
		limit = from;
	}
}

int parallelism_find(struct parallelism *x, const struct query *q, struct error *err)
{
	struct finder f = {.x = x, .q = q};

	*x = (struct parallelism){0};
	if (profile_fact(q->profile, FACT_NO_TIMES, NULL))
		return error_text(err, -ENODATA,
				  "--sort latency and --parallelism: the profile has no times");
	if (!has_runs(q, 0))
		f.event = q->event;
	f.interval = f.event ? usual_distance(q, f.event) : q->profile->meta.interval_ns;
	f.interval = MAX(f.interval, BINS_PER_INTERVAL);
	f.interval = MIN(f.interval, INTERVAL_MAX);
	set_range(x, q->profile, f.interval);
	vec_for_each(&q->profile->threads.rows, const struct profile_thread *, thread)
		add_thread(&f, thread);
	for (size_t i = 1; i < x->bins; i++)
		x->levels[i] += x->levels[i - 1];
	return 0;
}

uint32_t parallelism_at(const struct parallelism *x, uint64_t time)
{
	uint64_t bin = time > x->from && x->bins ? (time - x->from) / x->bin_ns : 0;
	uint32_t level = bin < x->bins ? (x->levels[bin] + WHOLE / 2) / WHOLE : 0;

	return level ? level : 1;
}

void parallelism_release(struct parallelism *x)
{
	free(x->levels);
	*x = (struct parallelism){0};
}
