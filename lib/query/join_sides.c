/* SPDX-License-Identifier: MIT */
#include "lib/query/join_sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/radix.h"
#include "lib/query/copy_rows.h"
#include "lib/query/join_functions.h"

static const char *const side_names[SIDE_COUNT] = {"A", "B"};

/* The new profile's number of the only event, if it is not the clock. */
#define EVENT 1

struct join {
	struct profile *into;
	const struct query_filter *filter;
	const struct query_run *run; /* of which samples are taken */
	enum side side;
	uint64_t start; /* of the run in the new profile */
	uint64_t end; /* latest of the run's samples there */
	bool *is_used; /* by stack_id of the run's profile */
	VEC(struct sample) samples; /* of the run, thread by thread */
};

static struct profile_thread *thread_of(const struct join *j)
{
	return threads_get(&j->into->threads, j->side);
}

static void take_sample(void *ctx, const struct query *q, thread_id thread,
			const struct sample *sample, stack_id shown)
{
	struct join *j = ctx;
	struct sample row = *sample;
	uint64_t start = q->profile->meta.start_ns + j->run->from;

	(void)thread;
	if (!row.weight)
		return;
	row.time = j->start + (sample->time > start ? sample->time - start : 0);
	row.stack = shown;
	row.event = q->event ? EVENT : 0;
	row.cpu = NO_CPU;
	if (row.time > j->end)
		j->end = row.time;
	if (shown != NO_STACK)
		j->is_used[shown] = true;
	if (row.event) {
		struct event_count *count = event_counts_get(&j->into->events, row.event);

		count->samples++;
		count->weight += row.weight;
	} else {
		j->into->stats.cpu_samples += row.weight;
	}
	vec_push(&j->samples, row);
}

/* Moves the run's samples to the thread, in order of time. */
static void place_samples(struct join *j, const stack_id *stacks)
{
	size_t count = j->samples.count;
	_cleanup_free_ struct radix_row *times = xcalloc(count + 1, sizeof(*times));

	for (size_t i = 0; i < count; i++)
		times[i] = (struct radix_row){j->samples.items[i].time, (uint32_t)i};
	if (count)
		radix_sort(times, count);
	for (size_t i = 0; i < count; i++) {
		struct sample sample = j->samples.items[times[i].value];

		if (sample.stack != NO_STACK)
			sample.stack = stacks[sample.stack];
		samples_add(&thread_of(j)->samples, &sample);
	}
	vec_clear(&j->samples);
}

static int add_run(struct join *j, struct error *err)
{
	const struct profile *p = j->run->profile;
	const struct query_filter filter = query_run_filter(j->run, j->filter);
	_cleanup_free_ bool *is_used = xcalloc(p->stacks.rows.count + 1, sizeof(*is_used));
	_cleanup_free_ stack_id *stacks = NULL;
	struct row_copier *rows;
	struct query q;
	int ret;

	j->is_used = is_used;
	ret = query_select_each(&q, p, &filter, take_sample, j, err);
	if (ret)
		return ret;
	if (q.event)
		event_counts_get(&j->into->events, EVENT)->name =
			strings_intern(&j->into->strings, query_event_name(q.profile, q.event));
	rows = row_copier_new(j->into, p);
	stacks = row_copier_stacks(rows, &q, is_used);
	row_copier_free(rows);
	place_samples(j, stacks);
	query_release(&q);
	return 0;
}

static void add_thread(struct join *j, enum side side, const char *variant)
{
	_cleanup_free_ char *name = xasprintf("%s: %s", side_names[side], variant);
	string_id text = strings_intern(&j->into->strings, name);
	const struct profile_thread thread = {
		.pid = side + 1,
		.tid = side + 1,
		.name = text,
		.process_name = text,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.is_main = true,
	};

	threads_add(&j->into->threads, &thread);
}

static int check_intervals(const struct query_runs *const sides[SIDE_COUNT], struct error *err)
{
	uint64_t interval = sides[SIDE_A]->rows.items[0].profile->meta.interval_ns;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run) {
			if (run->profile->meta.interval_ns != interval)
				return error_text(
					err, -EXDEV,
					"the runs have different intervals: %.6g and %.6g ms",
					(double)interval / 1e6,
					(double)run->profile->meta.interval_ns / 1e6);
		}
	}
	return 0;
}

/* Adds run `number` of each side that has this many. */
static int add_round(struct join *j, const struct query_runs *const sides[SIDE_COUNT],
		     size_t number, struct error *err)
{
	uint64_t next = j->start;

	for (int side = 0; side < SIDE_COUNT; side++) {
		int ret;

		if (number >= sides[side]->rows.count)
			continue;
		j->run = &sides[side]->rows.items[number];
		j->side = (enum side)side;
		j->end = j->start + j->run->wall_ns;
		ret = add_run(j, err);
		if (ret)
			return ret;
		threads_get(&j->into->threads, (thread_id)side)->end = j->end;
		if (j->end > next)
			next = j->end;
	}
	j->start = next;
	return 0;
}

static void set_meta(struct profile *into, const struct query_runs *const sides[SIDE_COUNT],
		     const char *const names[SIDE_COUNT])
{
	struct profile_meta *meta = &into->meta;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			row_copy_meta(into, run->profile, 0,
				      !side && run == sides[side]->rows.items, false);
	}
	free(meta->product);
	meta->product = xasprintf("%s, compared with %s", names[SIDE_B], names[SIDE_A]);
	meta->start_realtime_ns = sides[SIDE_A]->rows.items[0].began_ns;
	meta->root_pid = SIDE_A + 1;
}

int join_sides(struct profile **into, const struct query_runs *const sides[SIDE_COUNT],
	       const char *const names[SIDE_COUNT], const struct query_filter *filter,
	       struct error *err)
{
	struct join j = {.filter = filter};
	size_t rounds = 0;
	int ret = check_intervals(sides, err);

	if (ret)
		return ret;
	j.into = profile_new();
	set_meta(j.into, sides, names);
	for (int side = 0; side < SIDE_COUNT; side++) {
		add_thread(&j, (enum side)side, names[side]);
		if (sides[side]->rows.count > rounds)
			rounds = sides[side]->rows.count;
	}
	for (size_t i = 0; !ret && i < rounds; i++)
		ret = add_round(&j, sides, i, err);
	vec_release(&j.samples);
	j.into->meta.end_ns = j.start;
	if (ret) {
		profile_free(j.into);
		return ret;
	}
	join_functions(j.into);
	*into = j.into;
	return 0;
}
