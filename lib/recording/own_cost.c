/* SPDX-License-Identifier: MIT */
#include "lib/recording/own_cost.h"

#include <stdio.h>
#include <string.h>

#include "lib/recording/loss_counts.h"

#define MILLIONTHS 1e6

/* Larger values are damage; the format has room for them. */
#define VALUE_MAX 9e12

/* Figures of one program, or of all: runs, and µs. */
struct cost {
	double runs, us, mean, max, min;
};

/* Reports come from captures, too, which may be damaged. */
static uint64_t in_millionths(double value)
{
	return value > 0 && value < VALUE_MAX ? (uint64_t)(value * MILLIONTHS + 0.5) : 0;
}

static void add(struct cost *sum, const struct cost *cost)
{
	sum->runs += cost->runs;
	sum->us += cost->us;
	if (cost->max > sum->max)
		sum->max = cost->max;
	if (cost->min > 0 && (!(sum->min > 0) || cost->min < sum->min))
		sum->min = cost->min;
	sum->mean = sum->runs > 0 ? sum->us / sum->runs : 0;
}

static double real_of(const struct facts *f, enum fact_id id, const char *program)
{
	const struct fact *fact = facts_get(f, id, program);

	return fact ? fact->real : 0;
}

/* Sums the figures of a program; NULL: of all. */
static struct cost find_cost(const struct facts *f, const char *program)
{
	struct cost sum = {0};

	vec_for_each(&f->rows, const struct fact *, runs) {
		const struct fact *time;

		if (runs->id != FACT_BPF_PROGRAM_RUNS || !runs->of ||
		    (program && strcmp(runs->of, program) != 0))
			continue;
		time = facts_get(f, FACT_BPF_PROGRAM_TIME, runs->of);
		add(&sum, &(struct cost){
				  .runs = (double)runs->count,
				  .us = time ? (double)time->count / 1e3 : 0,
				  .max = real_of(f, FACT_BPF_PROGRAM_MAX, runs->of),
				  .min = real_of(f, FACT_BPF_PROGRAM_MIN, runs->of),
			  });
	}
	return sum;
}

/* Sets three fields from `mean` on. */
static void set_range(uint64_t *mean, const struct cost *cost)
{
	mean[0] = in_millionths(cost->mean);
	mean[1] = in_millionths(cost->max);
	mean[2] = in_millionths(cost->min);
}

static void fill_statistics(struct profile_overhead *o, const struct recorder_info *info,
			    const struct facts *facts)
{
	struct cost all = find_cost(facts, NULL), ticks = find_cost(facts, "on_tick");
	struct cost counters = find_cost(facts, "count_tasks");
	double interval = (double)info->interval_ns / 1e3;
	struct cost intervals = {.mean = interval, .max = interval, .min = interval};
	double profiled = info->end_ns > info->start_ns
				  ? (double)(info->end_ns - info->start_ns) / 1e3
				  : 0;

	o->has_statistics = all.runs > 0;
	set_range(&o->statistics[OVERHEAD_MEAN], &all);
	set_range(&o->statistics[OVERHEAD_MEAN_THREAD], &ticks);
	set_range(&o->statistics[OVERHEAD_MEAN_COUNTER], &counters);
	set_range(&o->statistics[OVERHEAD_MEAN_INTERVAL], &intervals);
	o->statistics[OVERHEAD_DURATIONS] = in_millionths(all.us);
	o->statistics[OVERHEAD_SHARE] = in_millionths(profiled > 0 ? all.us / profiled : 0);
	o->statistics[OVERHEAD_PROFILED] = in_millionths(profiled);
	o->statistics[OVERHEAD_SAMPLINGS] = in_millionths(ticks.runs);
}

/* Returns 0 if none. */
static uint64_t first_tick(const struct profile *p)
{
	uint64_t first = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->weight && !sample->event && !profile_is_wait(p, sample)) {
				if (!first || sample->time < first)
					first = sample->time;
				break;
			}
		}
	}
	return first;
}

static void fill_log(struct profile_overhead *o, const struct profile *p,
		     const struct recorder_info *info, const struct facts *facts)
{
	uint64_t first = first_tick(p), start = p->meta.start_ns;

	o->has_log = true;
	o->log[MOMENT_FIRST_TICK] = first > start ? first - start : 0;
	o->log[MOMENT_STOPPED] = info->end_ns > start ? info->end_ns - start : 0;
	o->log[MOMENT_TABLES] = in_millionths((double)facts_number(facts, FACT_TABLES));
	o->log[MOMENT_LOST_SAMPLES] = in_millionths((double)losses_count(&p->stats, true));
	o->log[MOMENT_LOST_EVENTS] = in_millionths((double)losses_count(&p->stats, false));
}

void own_cost_fill(struct profile *p, const struct recorder_info *info, const struct facts *facts)
{
	fill_statistics(&p->overhead, info, facts);
	fill_log(&p->overhead, p, info, facts);
}
