/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/cpu_time.h"

/* Returns ns from a to b; 0 if the clock went back. */
static uint64_t used_between(uint32_t a, uint32_t b)
{
	int32_t units = (int32_t)(b - a);

	return units > 0 ? (uint64_t)units << 4 : 0;
}

void cpu_clock_begin(struct cpu_clock *c, uint64_t time)
{
	struct cpu_reading begin = {.time = time};

	if (!c->is_known)
		c->last = begin;
	else
		c->used_ns += used_between(0, c->first.cpu);
	c->first = begin;
	c->is_known = true;
}

void cpu_clock_replace(struct cpu_clock *c)
{
	c->is_replaced = c->is_known;
}

void cpu_clock_limit(struct cpu_clock *c, uint32_t wire, uint64_t max_ns)
{
	uint64_t used = used_between(c->last.cpu, wire - c->base);

	if (c->is_known && !c->is_replaced && used > max_ns)
		c->base += (uint32_t)((used - max_ns) >> 4);
}

uint32_t cpu_clock_read(struct cpu_clock *c, uint64_t time, uint32_t wire)
{
	struct cpu_reading reading = {time, wire - c->base};

	if (c->is_replaced) {
		c->base = wire - c->last.cpu;
		c->is_replaced = false;
		reading.cpu = c->last.cpu;
	}
	if (!c->is_known) {
		c->first = c->last = reading;
		c->is_known = true;
	} else if (time >= c->last.time) {
		c->used_ns += used_between(c->last.cpu, reading.cpu);
		if ((int32_t)(reading.cpu - c->last.cpu) >= 0)
			c->last = reading;
	} else if (time < c->first.time) {
		c->used_ns += used_between(reading.cpu, c->first.cpu);
		c->first = reading;
	}
	return reading.cpu;
}

/* Stores the time of the first row with a reading; false: there is none. */
static bool first_reading(const struct profile_thread *row, uint64_t *time)
{
	samples_for_each(&row->samples, sample) {
		*time = sample->time;
		if (!sample->event)
			return true;
	}
	return false;
}

/* Returns the latest reading in a row, that of `first` without one. */
static uint32_t latest_in_rows(const struct profile_thread *row, uint32_t first)
{
	uint32_t latest = first;

	samples_for_each(&row->samples, sample) {
		if (!sample->event && used_between(latest, sample->cpu_delta))
			latest = sample->cpu_delta;
	}
	return latest;
}

static void add_edge(struct profile_thread *row, uint64_t time, uint32_t cpu)
{
	struct sample edge = {
		.time = time,
		.stack = NO_STACK,
		.cpu_delta = cpu,
		.cpu = NO_CPU,
	};

	samples_add(&row->samples, &edge);
}

/*
 * Had the thread used CPU time by the time of its first row? The kernel brings its count up to date
 * now and then, so a later reading may tell more: in no time can be used more than has passed.
 */
static bool had_run(const struct cpu_clock *c, const struct profile_thread *row)
{
	uint64_t used = used_between(c->first.cpu, c->last.cpu), time = c->last.time;

	samples_for_each_back(&row->samples, sample) {
		uint64_t known = used_between(c->first.cpu, sample->cpu_delta);
		uint64_t passed = time > sample->time ? time - sample->time : 0;

		if (sample->event)
			continue;
		used = used > passed ? used - passed : 0;
		if (known > used)
			used = known;
		time = sample->time;
	}
	return used;
}

static void add_edges(const struct cpu_clock *c, struct profile_thread *row)
{
	uint64_t first_time;
	bool has_reading = first_reading(row, &first_time);
	bool is_late = has_reading && c->first.time < first_time && had_run(c, row);
	bool is_early = used_between(latest_in_rows(row, c->first.cpu), c->last.cpu);

	if (is_late || (!has_reading && is_early))
		add_edge(row, row->start, c->first.cpu);
	if (is_early)
		add_edge(row, c->last.time > row->start ? c->last.time : row->start, c->last.cpu);
}

void cpu_clock_settle(const struct cpu_clock *c, struct profile_thread *row)
{
	uint32_t last = c->first.cpu;
	bool is_first = true;

	if (!c->is_known)
		return;
	add_edges(c, row);
	samples_change_each(&row->samples, sample) {
		uint64_t used = used_between(last, sample->cpu_delta);

		if (sample->event)
			continue;
		if ((int32_t)(sample->cpu_delta - last) > 0)
			last = sample->cpu_delta;
		/* Nothing is known of what came before the first row. */
		sample->cpu_delta = is_first ? 0 : used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
		is_first = false;
	}
	samples_settle_cpu_deltas(&row->samples);
}
