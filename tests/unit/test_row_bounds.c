/* SPDX-License-Identifier: MIT */
#include "lib/session/row_bounds.h"

#include "lib/profile/categories.h"
#include "lib/profile/label_frames.h"
#include "lib/profile/thinned.h"
#include "lib/query/select.h"
#include "tests/unit/test.h"

#define ROWS 100000u
#define STACKS 100u
/* Room for half of the rows, as the bounds count them. */
#define HALF (ROWS * 25u / 2)

static int setup(void **state)
{
	*state = profile_new();
	return 0;
}

static int teardown(void **state)
{
	profile_free(*state);
	return 0;
}

static stack_id add_stack(struct profile *p, uint64_t offset)
{
	const struct frame frame = {
		.module = NO_MODULE, .func = NO_FUNC, .symbol = NO_SYMBOL, .offset = offset};

	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

static struct profile_thread *add_thread(struct profile *p)
{
	const struct profile_thread row = {.is_main = true};

	return threads_get(&p->threads, threads_add(&p->threads, &row));
}

static void add_row(struct profile_thread *row, uint64_t time, stack_id stack, uint32_t weight,
		    uint8_t event)
{
	const struct sample sample = {
		.time = time,
		.stack = stack,
		.weight = weight,
		.cpu_delta = event ? 0 : 7,
		.event = event,
	};

	vec_push(&row->samples, sample);
}

struct sums {
	uint64_t rows, weight, cpu_ns;
	uint64_t of_stack[STACKS];
};

static struct sums sum_up(const struct profile_thread *row, uint8_t event)
{
	struct sums sums = {0};

	vec_for_each(&row->samples, const struct sample *, sample) {
		if (sample->event != event)
			continue;
		sums.rows += sample->weight != 0;
		sums.weight += sample->weight;
		sums.cpu_ns += sample->cpu_delta;
		if (sample->stack < STACKS)
			sums.of_stack[sample->stack] += sample->weight;
	}
	return sums;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(few_rows_stay)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i, add_stack(p, i % STACKS), 1, 0);
	row_bounds_limit(p, SAMPLE_BYTES_MAX);
	assert_int_equal(sum_up(row, 0).rows, ROWS);
	assert_int_equal(p->stats.left_out_rows, 0);
	assert_int_equal(p->meta.extra.count, 0);
}

/* Each stack has the same weight as before but for chance: 1000 rows of it, of 2 each. */
CASE(others_stand_for_those_left_out)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	struct sums sums;
	uint64_t time = 0;

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i, add_stack(p, i % STACKS), 1, 0);
	row_bounds_limit(p, HALF + STACKS * 13);
	sums = sum_up(row, 0);
	assert_in_range(sums.rows, ROWS / 2 - 4, ROWS / 2);
	assert_int_equal(sums.cpu_ns, ROWS * 7);
	assert_in_range(sums.weight, ROWS - 4, ROWS + 4);
	for (size_t i = 0; i < STACKS; i++)
		assert_in_range(sums.of_stack[i], 700, 1300);
	vec_for_each(&row->samples, const struct sample *, sample) {
		assert_true(sample->time >= time);
		time = sample->time;
	}
	assert_int_equal(p->stats.left_out_rows, ROWS - sums.rows);
	assert_int_equal(p->meta.extra.count, 2);
	assert_string_equal(p->meta.extra.items[0].label, "Rows left out: samples and waits");
	assert_string_equal(p->meta.extra.items[1].value, "2");
}

/* A kind with few rows keeps them, and heavy rows what they weigh. */
CASE(only_the_many_light_ones_go)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	stack_id heavy = add_stack(p, 0), light = add_stack(p, 1);
	struct sums clock, events;

	event_counts_get(&p->events, 1)->samples = ROWS;
	for (uint64_t i = 0; i < ROWS; i++) {
		if (i % 100 == 0)
			add_row(row, i, light, 1, 0);
		if (i % 100 == 1)
			add_row(row, i, heavy, 1000, 1);
		else
			add_row(row, i, light, 1, 1);
	}
	row_bounds_limit(p, HALF);
	clock = sum_up(row, 0);
	events = sum_up(row, 1);
	assert_int_equal(clock.rows, ROWS / 100);
	assert_int_equal(clock.cpu_ns, ROWS / 100 * 7);
	assert_true(events.rows < ROWS / 2);
	assert_in_range(events.of_stack[heavy], 999 * ROWS / 100, 1001 * ROWS / 100);
	assert_in_range(events.of_stack[light], 95 * ROWS / 100, 103 * ROWS / 100);
	assert_int_equal(p->events.rows.items[1].samples, events.rows);
}

/* Both rows of a wait go, or the one at its end stays with the one at its start. */
CASE(waits_begin_where_they_began)
{
	const struct frame_category idle = {.category = CATEGORY_IDLE};
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	frame_id label = label_frames_intern(p, strings_intern(&p->strings, "[read]"), idle);
	stack_id runs = add_stack(p, 1), waits = stacks_intern(&p->stacks, NO_STACK, label);
	uint64_t begun = 0;

	for (uint64_t i = 0; i < ROWS / 4; i++) {
		add_row(row, 100 * i, runs, 1, 0);
		add_row(row, 100 * i + 10, waits, 1, 0);
		add_row(row, 100 * i + 90, waits, 1 + i % 5, 0);
	}
	row_bounds_limit(p, HALF);
	vec_for_each(&row->samples, const struct sample *, sample) {
		if (sample->stack != waits)
			continue;
		assert_true(sample->time % 100 == 10 || sample->time / 100 == begun);
		if (sample->time % 100 == 10)
			begun = sample->time / 100;
	}
	assert_true(begun);
	assert_in_range(sum_up(row, 0).weight, ROWS / 4 * 5 - 4, ROWS / 4 * 5 + 4);
}

/* The CPU time of a thread without any row that stayed is in one without a stack. */
CASE(no_time_is_lost)
{
	struct profile *p = *state;
	struct profile_thread *row;
	uint64_t used = 0;

	for (uint64_t i = 0; i < ROWS; i++) {
		row = add_thread(p);
		add_row(row, i, add_stack(p, i % STACKS), 1, 0);
	}
	row_bounds_limit(p, HALF);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		used += sum_up(thread, 0).cpu_ns;
	assert_int_equal(used, ROWS * 7);
}

/* Stacks that nobody has any more are not in the file. */
CASE(stacks_go_with_their_rows)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i, add_stack(p, i), 1, 0);
	row_bounds_limit(p, HALF);
	assert_int_equal(p->stacks.rows.count, sum_up(row, 0).rows);
	assert_int_equal(p->frames.rows.count, p->stacks.rows.count);
	assert_in_range(p->stacks.rows.count, 1, HALF / (25 + 13));
	vec_for_each(&row->samples, const struct sample *, sample) {
		if (sample->stack != NO_STACK)
			assert_true(sample->stack < p->stacks.rows.count);
	}
}

/* The same records give the same rows. */
CASE(chance_is_always_the_same)
{
	struct profile *p = *state, *other = profile_new();
	struct profile *both[] = {p, other};

	for (size_t k = 0; k < 2; k++) {
		struct profile_thread *row = add_thread(both[k]);

		for (uint64_t i = 0; i < ROWS; i++)
			add_row(row, i, add_stack(both[k], i % 7), 1 + i % 3, 0);
		row_bounds_limit(both[k], HALF);
	}
	assert_int_equal(p->threads.rows.items[0].samples.count,
			 other->threads.rows.items[0].samples.count);
	for (size_t i = 0; i < p->threads.rows.items[0].samples.count; i++) {
		const struct sample *a = &p->threads.rows.items[0].samples.items[i];
		const struct sample *b = &other->threads.rows.items[0].samples.items[i];

		assert_true(a->time == b->time && a->weight == b->weight && a->stack == b->stack);
	}
	profile_free(other);
}

/* Errors are those of the rows that are left. */
CASE(errors_grow)
{
	const struct query_filter filter = {.until = UINT64_MAX};
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	struct query before, after;
	struct error err = {0};
	double whole;

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i, add_stack(p, i % STACKS), 1, 0);
	assert_int_equal(query_select(&before, p, &filter, &err), 0);
	whole = query_error(&before, ROWS / 2);
	query_release(&before);
	row_bounds_limit(p, HALF / 2 + STACKS * 13);
	assert_int_equal(thinned_weight(p), 4);
	assert_int_equal(query_select(&after, p, &filter, &err), 0);
	assert_in_range(1000 * query_error(&after, ROWS / 2) / whole, 1990, 2010);
	query_release(&after);
}
