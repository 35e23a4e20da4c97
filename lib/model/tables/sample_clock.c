/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/sample_clock.h"

/* Returns the length that most of the steps between rows have about. */
static uint64_t usual_step(const struct sample *rows, size_t count)
{
	uint64_t usual = INTERVAL_MIN;
	int votes = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t passed = rows[i].time - rows[i - 1].time;

		if (passed < INTERVAL_MIN || passed > INTERVAL_MAX)
			continue;
		if (!votes)
			usual = passed;
		votes += !votes || (passed > usual - usual / 8 && passed < usual + usual / 8) ? 1
											      : -1;
	}
	return usual;
}

/* Returns the mean of all steps that differ from this one by at most a part of it. */
static uint64_t mean_step(const struct sample *rows, size_t count, uint64_t step, int part_shift)
{
	uint64_t most = step >> part_shift, sum = 0, steps = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t passed = rows[i].time - rows[i - 1].time;

		if (passed + most < step || passed > step + most)
			continue;
		sum += passed;
		steps++;
	}
	return steps ? sum / steps : step;
}

uint64_t sample_clock_interval(const struct sample *rows, size_t count)
{
	uint64_t interval = usual_step(rows, count);

	/* The mean of ever closer steps. */
	for (int part_shift = 3; part_shift <= 9; part_shift += 2)
		interval = mean_step(rows, count, interval, part_shift);
	return interval;
}

static uint64_t distance(uint32_t a, uint32_t b)
{
	return a - b < b - a ? a - b : b - a;
}

bool sample_clock_has_readings(const struct sample *rows, size_t count)
{
	int64_t votes = 0;

	for (size_t i = 1; i < count; i++) {
		uint32_t passed = (uint32_t)(rows[i].time - rows[i - 1].time);
		uint64_t reading = distance(rows[i].cpu_delta,
					    rows[i - 1].cpu_delta + (passed >> READING_SHIFT));
		uint64_t difference = distance(rows[i].cpu_delta, passed);

		reading <<= READING_SHIFT;
		if (reading != difference)
			votes += reading < difference ? 1 : -1;
	}
	return votes > 0;
}
