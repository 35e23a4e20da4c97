/* SPDX-License-Identifier: MIT */
/* Simulates runs: noise is rarely taken for a difference, and a difference is found. */
#include <math.h>
#include <string.h>

#include "tests/unit/comparison_fixture.h"
#include "tests/unit/test.h"

/* A simulated machine: numbers by xorshift, always the same ones. */
struct simulation {
	uint64_t seed;
	bool is_disturbed; /* one function takes up to 15 % more now and then, as kernels do */
	struct profile *sides[SIDE_COUNT];
};

static double uniform(struct simulation *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return ((double)(s->seed >> 11) + 0.5) / 9007199254740992.0;
}

static double gaussian(struct simulation *s)
{
	return sqrt(-2 * log(uniform(s))) * cos(2 * 3.141592653589793 * uniform(s));
}

/* Poisson's, for a few or very many. */
static uint32_t count_of(struct simulation *s, double mean)
{
	double product = uniform(s), limit = exp(-mean);
	uint32_t count = 0;

	if (mean > 50) {
		double value = mean + sqrt(mean) * gaussian(s) + 0.5;

		return value > 0 ? (uint32_t)value : 0;
	}
	for (; product > limit; count++)
		product *= uniform(s);
	return count;
}

#define FUNCTIONS 60
#define SLOW 3 /* has a share of 20 % */
#define DISTURBED 30
#define PAIRS 10
#define TRIALS 120

/*
 * Runs of 60 functions, whose times vary by 3 to 8 % each and by 3 % together, sampled `ticks`
 * times or so. In B, one takes `factor` as long.
 */
static void simulate(struct simulation *s, double ticks, double factor)
{
	double times[FUNCTIONS], noise[FUNCTIONS], sum = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		times[i] = 1.0 / (i + 1);
		noise[i] = 0.03 + 0.05 * uniform(s);
		sum += i == SLOW ? 0 : times[i];
	}
	times[SLOW] = sum / 4;
	for (uint32_t run = 0; run < 2 * PAIRS; run++) {
		/* ABBA: as good as at random. */
		int side = (int)((run + run / 2) & 1);
		struct profile *p = s->sides[side];
		double all = exp(0.03 * gaussian(s));

		comparison_mark_run(
			p, run,
			(struct run_marker){.iteration = run / 2 + 1, .variant = NO_STRING});
		for (int i = 0; i < FUNCTIONS; i++) {
			char name[] = {'f', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
			double time = times[i] / (1.25 * sum) * all * exp(noise[i] * gaussian(s)) *
				      (side == SIDE_B && i == SLOW ? factor : 1);

			if (s->is_disturbed && i == DISTURBED && uniform(s) < 0.15)
				time += 0.15 * uniform(s);
			comparison_add_weight(p, run, comparison_add_stack(p, "m", name, false),
					      count_of(s, ticks * time));
		}
	}
}

struct tally {
	int regressions; /* verdicts */
	int named; /* comparisons in which some row differs */
	int found; /* in which the row does that is slower */
	int wrong; /* in which another one does */
};

static struct tally repeat(struct simulation s, int times, double ticks, double factor)
{
	struct tally tally = {0};

	for (int i = 0; i < times; i++) {
		const struct comparison_row *slow;
		struct comparison c;
		bool is_named = false, is_wrong = false;

		s.sides[SIDE_A] = comparison_profile_new();
		s.sides[SIDE_B] = comparison_profile_new();
		simulate(&s, ticks, factor);
		comparison_of(&c, s.sides[SIDE_A], s.sides[SIDE_B], &comparison_by_function);
		assert_true(c.is_paired);
		vec_for_each(&c.rows, const struct comparison_row *, row) {
			is_named |= row->differs;
			is_wrong |= row->differs && strcmp(row->name, "f03") != 0;
		}
		slow = comparison_find(&c, "f03");
		tally.named += is_named;
		tally.found += slow && slow->differs && slow->share.estimate > 0;
		tally.wrong += is_wrong;
		tally.regressions += c.total.low > 0;
		comparison_release(&c);
		profile_free(s.sides[SIDE_A]);
		profile_free(s.sides[SIDE_B]);
	}
	return tally;
}

TEST(noise_is_not_taken_for_a_difference)
{
	static const double ticks[] = {150, 1000, 20000};

	for (size_t i = 0; i < COUNT(ticks); i++) {
		struct tally tally = repeat((struct simulation){.seed = 7 + i}, TRIALS, ticks[i],
					    1);

		print_message("%g ticks: %d regressions, %d with a row\n", ticks[i],
			      tally.regressions, tally.named);
		assert_true(tally.named <= TRIALS / 20);
		assert_true(tally.regressions <= TRIALS / 20);
	}
}

static void find_slower(struct simulation s)
{
	struct tally tally = repeat(s, 100, 2000, 1.25);

	print_message("found %d of 100, others %d, regressions %d\n", tally.found, tally.wrong,
		      tally.regressions);
	assert_true(tally.found >= 90);
	assert_true(tally.wrong <= 5);
}

TEST(a_slower_function_is_found)
{
	find_slower((struct simulation){.seed = 3});
}

TEST(a_noisy_row_does_not_hide_others)
{
	struct simulation disturbed = {.seed = 5, .is_disturbed = true};
	struct tally same;

	find_slower(disturbed);
	same = repeat(disturbed, TRIALS, 1000, 1);
	print_message("disturbed: %d with a row\n", same.named);
	assert_true(same.named <= TRIALS / 20);
}
