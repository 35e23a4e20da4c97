/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/row_bounds.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"
#include "lib/query/select.h"
#include "tests/unit/test.h"

#define ROWS 100000u
#define STACKS 100u
/* Room for half of the rows, as the bounds count them. */
#define HALF (ROWS * 33u / 2)

/* Time between rows that nothing joins. */
#define APART 200000000ull

static struct row_limits bytes(uint64_t max)
{
	return (struct row_limits){max, UINT64_MAX, UINT64_MAX};
}

static void limit(struct profile *p, struct row_limits limits)
{
	struct row_bounds bounds;

	row_bounds_init(&bounds, p, limits);
	row_bounds_finish(&bounds);
}

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

	samples_add(&row->samples, &sample);
}

struct sums {
	uint64_t rows, weight, cpu_ns;
	uint64_t of_stack[STACKS];
};

static struct sums sum_up(const struct profile_thread *row, uint8_t event)
{
	struct sums sums = {0};

	samples_for_each(&row->samples, sample) {
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
		add_row(row, i * APART, add_stack(p, i % STACKS), 1, 0);
	limit(p, ROW_LIMITS);
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
		add_row(row, i * APART, add_stack(p, i % STACKS), 1, 0);
	limit(p, bytes(HALF + STACKS * 13));
	sums = sum_up(row, 0);
	assert_in_range(sums.rows, ROWS / 2 - 4, ROWS / 2);
	assert_int_equal(sums.cpu_ns, ROWS * 7);
	assert_in_range(sums.weight, ROWS - 4, ROWS + 4);
	for (size_t i = 0; i < STACKS; i++)
		assert_in_range(sums.of_stack[i], 700, 1300);
	samples_for_each(&row->samples, sample) {
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
			add_row(row, i * APART, light, 1, 0);
		if (i % 100 == 1)
			add_row(row, i * APART, heavy, 1000, 1);
		else
			add_row(row, i * APART, light, 1, 1);
	}
	limit(p, bytes(HALF));
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
	limit(p, bytes(HALF));
	samples_for_each(&row->samples, sample) {
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
		add_row(row, i * APART, add_stack(p, i % STACKS), 1, 0);
	}
	limit(p, bytes(HALF));
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
		add_row(row, i * APART, add_stack(p, i), 1, 0);
	limit(p, bytes(HALF));
	assert_int_equal(p->stacks.rows.count, sum_up(row, 0).rows);
	assert_int_equal(p->frames.rows.count, p->stacks.rows.count);
	assert_in_range(p->stacks.rows.count, 1, HALF / (33 + 13));
	samples_for_each(&row->samples, sample) {
		if (sample->stack != NO_STACK)
			assert_true(sample->stack < p->stacks.rows.count);
	}
}

/* The same records give the same rows. */
CASE(chance_is_always_the_same)
{
	struct profile *p = *state, *other = profile_new();
	struct profile *both[] = {p, other};
	struct sample_iterator it;

	for (size_t k = 0; k < 2; k++) {
		struct profile_thread *row = add_thread(both[k]);

		for (uint64_t i = 0; i < ROWS; i++)
			add_row(row, i * APART, add_stack(both[k], i % 7), 1 + i % 3, 0);
		limit(both[k], bytes(HALF));
	}
	assert_int_equal(samples_count(&p->threads.rows.items[0].samples),
			 samples_count(&other->threads.rows.items[0].samples));
	it = samples_begin(&other->threads.rows.items[0].samples);
	samples_for_each(&p->threads.rows.items[0].samples, a) {
		const struct sample *b = sample_iterator_next(&it);

		assert_true(a->time == b->time && a->weight == b->weight && a->stack == b->stack);
	}
	sample_iterator_release(&it);
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
		add_row(row, i * APART, add_stack(p, i % STACKS), 1, 0);
	assert_int_equal(query_select(&before, p, &filter, &err), 0);
	whole = query_error(&before, ROWS / 2);
	query_release(&before);
	limit(p, bytes(HALF / 2 + STACKS * 13));
	assert_int_equal(thinned_weight(p), 4);
	assert_int_equal(query_select(&after, p, &filter, &err), 0);
	assert_in_range(1000 * query_error(&after, ROWS / 2) / whole, 1990, 2010);
	query_release(&after);
}

/* Ticks with one stack become one row, with all of their weight and CPU time. */
CASE(ticks_are_merged_before_any_is_left_out)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	struct sums sums;

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i * 1000000, add_stack(p, i % 10), 1, 0);
	limit(p, bytes(HALF));
	sums = sum_up(row, 0);
	assert_int_equal(sums.rows, ROWS / 10);
	assert_int_equal(sums.weight, ROWS);
	assert_int_equal(sums.cpu_ns, ROWS * 7);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(sums.of_stack[i], ROWS / 10);
	assert_int_equal(p->stats.merged_rows, ROWS - ROWS / 10);
	assert_int_equal(p->stats.left_out_rows, 0);
	assert_int_equal(thinned_weight(p), 1);
	assert_string_equal(p->meta.extra.items[0].label, "Rows merged");
}

/* Waits that follow each other become one, with a row at its start and one at its end. */
CASE(waits_are_merged_first)
{
	const struct frame_category idle = {.category = CATEGORY_IDLE};
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);
	frame_id label = label_frames_intern(p, strings_intern(&p->strings, "[poll]"), idle);
	stack_id waits = stacks_intern(&p->stacks, NO_STACK, label), runs = add_stack(p, 1);

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i * APART, i % 100 ? waits : runs, 1 + i % 3, 0);
	limit(p, bytes(HALF));
	/* A tick, and the two rows of a wait. */
	assert_int_equal(sum_up(row, 0).rows, ROWS / 100 * 3);
	assert_int_equal(sum_up(row, 0).weight, 2 * ROWS - 1);
	assert_int_equal(p->stats.left_out_rows, 0);
}

/* Sums of stacks and of threads stay within a hundredth when nine of ten rows go. */
CASE(shares_hold_when_nine_of_ten_rows_go)
{
	static const uint64_t until[] = {50, 75, 90, 100};
	struct profile *p = *state;
	struct sums sums;

	for (int t = 0; t < 4; t++) {
		struct profile_thread *row = add_thread(p);

		for (uint64_t i = 0; i < 4 * ROWS; i++)
			add_row(row, i * APART,
				add_stack(p, count_front(until, 4, it, *it <= i % 100)), 1, 0);
	}
	limit(p, (struct row_limits){UINT64_MAX, 16 * ROWS / 10, UINT64_MAX});
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t before = 0;

		sums = sum_up(thread, 0);
		assert_in_range(sums.weight, 4 * ROWS - 10, 4 * ROWS + 10);
		assert_in_range(sums.rows, 4 * ROWS / 10 - 2, 4 * ROWS / 10 + 2);
		for (size_t i = 0; i < 4; i++) {
			uint64_t wanted = (until[i] - before) * 4 * ROWS / 100;

			before = until[i];
			assert_in_range(sums.of_stack[i], wanted - 4 * ROWS / 100,
					wanted + 4 * ROWS / 100);
		}
	}
}

/* Stacks have a limit of their own. */
CASE(too_many_stacks_are_thinned)
{
	struct profile *p = *state;
	struct profile_thread *row = add_thread(p);

	for (uint64_t i = 0; i < ROWS; i++)
		add_row(row, i * APART, add_stack(p, i), 1, 0);
	limit(p, (struct row_limits){UINT64_MAX, UINT64_MAX, 1000});
	assert_in_range(p->stacks.rows.count, 900, 1000);
	assert_in_range(sum_up(row, 0).weight, ROWS - 200, ROWS + 200);
}
