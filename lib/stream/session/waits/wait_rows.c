/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/waits/wait_rows.h"

#include <math.h>

#include "lib/stream/session/waits/waits.h"

/* Fewer sampled long waits than this are too few to estimate the others. */
#define LONG_SAMPLED_MIN 16
/* Larger deviations are not sampling errors. */
#define DEVIATIONS 4

struct wait_rows *wait_rows_new(uint64_t seed, const struct cpu_clock *clock)
{
	struct wait_rows *w = xcalloc(1, sizeof(*w));

	w->seed = seed;
	w->begin_ns = clock->first.time;
	return w;
}

void wait_rows_free(struct wait_rows *w)
{
	if (!w)
		return;
	vec_release(&w->parts);
	samples_release(&w->rows);
	free(w);
}

void wait_rows_add(struct wait_rows *w, const struct wait_part *part)
{
	vec_push(&w->parts, *part);
}

double wait_part_count(const struct wait_part *part)
{
	return part->chance ? 4294967296.0 / ((double)part->chance + 1) : 1;
}

/* Returns the time that the part represents, in ns. */
static double estimate(const struct wait_part *part)
{
	return (double)part->length * wait_part_count(part);
}

/* Sums over the parts of each group. */
struct sums {
	double known[WAIT_GROUP_COUNT]; /* sum of lengths */
	double estimated[WAIT_GROUP_COUNT];
	double variance; /* variance of the estimate of short waits */
	size_t sampled; /* number of sampled long waits */
};

static struct sums sum_up(const struct wait_rows *w)
{
	struct sums sums = {0};

	vec_for_each(&w->parts, const struct wait_part *, part) {
		double stands_for = estimate(part), length = (double)part->length;

		sums.known[part->group] += length;
		sums.estimated[part->group] += stands_for;
		if (part->group == WAIT_SHORT)
			sums.variance += stands_for * (stands_for - length);
		sums.sampled += part->group == WAIT_LONG;
	}
	return sums;
}

static double bounded(double value, double middle, double range)
{
	return fmin(fmax(value, middle - range), middle + range);
}

/*
 * Sets the factor of each group's estimates. The lengths of all long waits are known, so those with
 * a stack are scaled to the total. Short waits get the rest of the time off the CPU. That rest
 * includes time taken by interrupts or other virtual machines, so the estimate is corrected only
 * within the sampling error, and never beyond the available time: at a tiny chance, one wait
 * represents billions.
 */
static void fit(const struct wait_rows *w, const struct cpu_clock *clock, double *factors,
		bool *counts_lengths)
{
	struct sums sums = sum_up(w);
	double known = sums.known[WAIT_LONG] + sums.known[WAIT_LONG_UNSAMPLED];
	double passed = (double)clock->last.time - (double)w->begin_ns;
	double used = (double)(clock->used_ns - w->begin_used_ns);
	double left = passed - used - known - sums.known[WAIT_COUNTS];
	double estimated = sums.estimated[WAIT_SHORT];

	*counts_lengths = sums.sampled < LONG_SAMPLED_MIN || sums.known[WAIT_LONG_UNSAMPLED] == 0;
	factors[WAIT_COUNTS] = 1;
	factors[WAIT_LONG] = *counts_lengths ? 1 : known / sums.estimated[WAIT_LONG];
	factors[WAIT_LONG_UNSAMPLED] = *counts_lengths;
	factors[WAIT_SHORT] = 1;
	if (estimated > 0)
		factors[WAIT_SHORT] =
			fmin(fmax(0, bounded(left, estimated, DEVIATIONS * sqrt(sums.variance))),
			     fmax(left, sums.known[WAIT_SHORT])) /
			estimated;
}

static void add_row(struct wait_rows *w, const struct wait_part *part, uint64_t time, double weight)
{
	const struct sample row = {
		.time = time,
		.stack = part->stack,
		.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX,
		.cpu_delta = part->cpu,
		.cpu = NO_CPU,
	};

	samples_add(&w->rows, &row);
}

static void add_rows(struct wait_rows *w, const struct wait_part *part, double waited,
		     double interval)
{
	double end = w->position + waited;
	double points = points_before(w->seed, end, interval) -
			points_before(w->seed, w->position, interval);

	w->position = end;
	if (points >= 1)
		add_row(w, part, part->start, 1);
	if (points >= 2)
		add_row(w, part, part->start + part->length, points - 1);
}

void wait_rows_flush(struct wait_rows *w, const struct cpu_clock *clock, uint64_t interval_ns,
		     struct wait_stats *stats)
{
	double factors[WAIT_GROUP_COUNT];
	bool counts_lengths;

	fit(w, clock, factors, &counts_lengths);
	vec_for_each(&w->parts, const struct wait_part *, part) {
		double stands_for = part->group == WAIT_LONG && counts_lengths
					    ? (double)part->length
					    : estimate(part);
		double waited = stands_for * factors[part->group];

		if (part->group != WAIT_LONG_UNSAMPLED)
			stats->estimated_ns += estimate(part);
		stats->fitted_ns += waited;
		add_rows(w, part, waited, (double)interval_ns);
	}
	vec_clear(&w->parts);
	w->begin_ns = clock->last.time;
	w->begin_used_ns = clock->used_ns;
}

void wait_rows_trim(struct wait_rows *w)
{
	vec_fit(&w->parts);
	samples_close(&w->rows);
}

void wait_rows_place(struct wait_rows *w, struct profile_thread *thread)
{
	samples_merge(&thread->samples, &w->rows);
}

void wait_rows_mark_stacks(const struct wait_rows *w, const struct stacks *stacks, bool *used)
{
	vec_for_each(&w->parts, const struct wait_part *, part)
		stacks_mark(stacks, part->stack, used);
	samples_for_each(&w->rows, sample)
		stacks_mark(stacks, sample->stack, used);
}

void wait_rows_move_stacks(struct wait_rows *w, const stack_id *map)
{
	vec_for_each(&w->parts, struct wait_part *, part) {
		if (part->stack != NO_STACK)
			part->stack = map[part->stack];
	}
	samples_change_each(&w->rows, sample) {
		if (sample->stack != NO_STACK)
			sample->stack = map[sample->stack];
	}
}
