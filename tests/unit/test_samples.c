/* SPDX-License-Identifier: MIT */
/* Rows where a thread did not run, and how events other than the clock are drawn. */

#include "lib/model/meaning/categories.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

static int setup(void **state)
{
	export_setup(state);
	((struct exported *)*state)->p->meta.interval_ns = MS;
	return 0;
}

static stack_id a_stack(struct exported *f)
{
	return stacks_intern(&f->p->stacks, NO_STACK, export_add_frame(f, NO_MODULE, NO_FUNC, 16));
}

static void expect(struct exported *f, size_t thread, const char *column, const char *json)
{
	json_t *samples = export_at(json_array_get(export_at(f->root, "threads"), thread),
				    "samples");

	export_expect(samples, column, json);
}

#define CASE(name) TEST_WITH(name, setup, export_teardown)

CASE(a_gap_has_a_row_at_either_end)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "sleeper");
	stack_id stack = a_stack(f);

	export_add_sample(row, 1 * MS, stack, 0);
	export_add_sample(row, 2 * MS, stack, MS);
	/* Twice the interval is not a gap yet. */
	export_add_sample(row, 4 * MS, stack, MS);
	export_add_sample(row, 54 * MS, stack, MS / 2);
	export_add_sample(row, 55 * MS, stack, MS);
	export_run(f);
	expect(f, 0, "stack", "[0,0,0,null,null,0,0]");
	expect(f, 0, "timeDeltas", "[1,1,2,1,48,1,1]");
	expect(f, 0, "threadCPUDelta", "[0,1000000,1000000,0,0,500000,1000000]");
	expect(f, 0, "weight", "[1,1,1,0,0,1,1]");
	expect(f, 0, "length", "7");
	assert_int_equal(f->counts.gap_rows, 2);
}

/* The kernel counts CPU time of a thread before it is switched in: half an interval in one row. */
CASE(a_wait_goes_on_until_its_last_row)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "waiter");
	frame_id label = label_frames_intern(f->p, export_intern(f, "[futex]"),
					     (struct frame_category){.category = CATEGORY_IDLE});
	stack_id wait = stacks_intern(&f->p->stacks, NO_STACK, label);

	export_add_sample(row, 1 * MS, wait, 0);
	export_add_sample(row, 301 * MS, wait, MS / 2);
	row->samples.open.items[1].weight = 298;
	/* Others of that kind: neither stands for the time in between. */
	export_add_sample(row, 311 * MS, wait, MS / 2);
	export_add_sample(row, 321 * MS, wait, MS / 2);
	row->samples.open.items[3].weight = 7;
	export_run(f);
	expect(f, 0, "stack", "[0,0,null,null,0,null,null,0]");
	expect(f, 0, "weight", "[1,298,0,0,1,0,0,7]");
}

/* A tick stands for an interval, in ms. Rows of events count. */
CASE(rows_of_the_clock_weigh_time)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "busy");
	stack_id stack = a_stack(f);

	f->p->meta.interval_ns = 250500;
	event_counts_get(&f->p->events, 1)->name = export_intern(f, "page-faults");
	export_add_sample(row, 1 * MS, stack, 0);
	export_add_sample(row, 1 * MS + 250500, stack, 250500);
	row->samples.open.items[1].weight = 4;
	export_add_sample(row, 2 * MS, stack, 0);
	row->samples.open.items[2].event = 1;
	row->samples.open.items[2].weight = 5;
	export_run(f);
	expect(f, 0, "weight", "[0,0.2505,1.002]");
	expect(f, 0, "weightType", "\"tracing-ms\"");
	expect(f, 1, "weightType", "\"samples\"");
}

/* With a column of weights, rows of gaps weigh 0, so sums stay the same. */
CASE(rows_of_gaps_weigh_nothing)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "sleeper");
	stack_id stack = a_stack(f);

	export_add_sample(row, 1 * MS, stack, 0);
	export_add_sample(row, 54 * MS, stack, MS);
	row->samples.open.items[1].weight = 3;
	export_run(f);
	expect(f, 0, "weight", "[1,0,0,3]");
	expect(f, 0, "threadCPUDelta", "[0,0,0,1000000]");
}

/* A row of several threads that had no tick has one at the end of each. */
CASE(rows_without_samples_stay_in_order)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "short");

	export_add_sample(row, 10 * MS, NO_STACK, MS / 20);
	export_add_sample(row, 10 * MS + MS / 5, NO_STACK, MS / 20);
	export_add_sample(row, 20 * MS, NO_STACK, MS / 2);
	samples_change_each(&row->samples, sample)
		sample->weight = 0;
	export_run(f);
	expect(f, 0, "timeDeltas", "[0,9,1,0.2,8.8,1]");
	expect(f, 0, "threadCPUDelta", "[0,0,50000,50000,0,500000]");
}

/* A sample without a stack is still a sample. */
CASE(samples_without_stack_are_no_gap)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "exiting");

	export_add_sample(row, 1 * MS, NO_STACK, 0);
	export_add_sample(row, 11 * MS, a_stack(f), MS);
	export_run(f);
	expect(f, 0, "stack", "[null,null,null,0]");
	expect(f, 0, "weight", "[1,0,0,1]");
	assert_int_equal(f->counts.gap_rows, 2);
}

/* Its CPU time shows that samples were lost. */
CASE(a_thread_that_ran_has_no_gap)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "busy");
	stack_id stack = a_stack(f);

	export_add_sample(row, 1 * MS, stack, 0);
	export_add_sample(row, 11 * MS, stack, 9 * MS);
	/* Half of the time: as far as anyone knows, it ran before the second sample. */
	export_add_sample(row, 31 * MS, stack, 10 * MS);
	export_run(f);
	expect(f, 0, "stack", "[0,0,null,null,0]");
	expect(f, 0, "timeDeltas", "[1,10,1,9,10]");
	expect(f, 0, "threadCPUDelta", "[0,9000000,0,0,10000000]");
}

CASE(a_thread_begins_with_a_row)
{
	struct exported *f = *state;
	struct profile_thread *row;
	stack_id stack = a_stack(f);

	row = export_add_thread(f, 10, 10, "late");
	row->start += 20 * MS;
	export_add_sample(row, 30 * MS, stack, 0);
	row = export_add_thread(f, 10, 11, "at once");
	row->start += 20 * MS;
	export_add_sample(row, 21 * MS, stack, 0);
	row = export_add_thread(f, 10, 12, "early");
	row->start -= 20 * MS;
	export_add_sample(row, 2 * MS, stack, 0);
	export_add_thread(f, 10, 13, "idle");
	export_run(f);
	expect(f, 0, "stack", "[null,0]");
	expect(f, 0, "timeDeltas", "[20,10]");
	expect(f, 1, "timeDeltas", "[0,2]");
	expect(f, 2, "length", "0");
	expect(f, 3, "timeDeltas", "[21]");
}

/* The CPU was idle before the time that the first ticks stand for. */
/* Threads that share a row may have no sample, and be known to have run by their ends alone. */
CASE(a_row_without_samples_begins_with_its_thread)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "short");

	row->start += 20 * MS;
	export_add_sample(row, 30 * MS, NO_STACK, MS / 2);
	row->samples.open.items[0].weight = 0;
	export_run(f);
	expect(f, 0, "stack", "[null,null,null]");
	expect(f, 0, "timeDeltas", "[20,9,1]");
	expect(f, 0, "threadCPUDelta", "[0,0,500000]");
}

CASE(a_cpu_that_was_idle_first)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "make");
	stack_id stack = a_stack(f);

	f->options.cpus = true;
	/* The time that two ticks stand for began before the recording. */
	export_add_sample(row, 3 * MS / 2, stack, MS);
	row->samples.open.items[0].cpu = 1;
	row->samples.open.items[0].weight = 2;
	export_add_sample(row, 30 * MS, stack, MS);
	export_run(f);
	expect(f, 1, "timeDeltas", "[0,29,1]");
	expect(f, 1, "threadCPUDelta", "[0,0,1000000]");
	expect(f, 2, "timeDeltas", "[0,1.5]");
	expect(f, 2, "threadCPUDelta", "[0,1500000]");
}

/* Round numbers at any rate, but never so long that the CPU time does not fit. */
CASE(edges_are_round)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "sleeper");
	stack_id stack = a_stack(f);

	f->p->meta.interval_ns = 1001001;
	export_add_sample(row, 1 * MS, stack, 0);
	export_add_sample(row, 21 * MS, stack, MS);
	export_add_sample(row, 41 * MS, stack, 1001001);
	export_run(f);
	expect(f, 0, "timeDeltas", "[1,1,18,1,1,17.998999,1.001001]");
}

/* Holds if the interval's next digits are nines, too. */
CASE(the_shortest_gap_has_rows)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "sleeper");
	stack_id stack = a_stack(f);

	f->p->meta.interval_ns = 1009999;
	export_add_sample(row, MS, stack, 0);
	export_add_sample(row, MS + 2 * 1009999 + 1, stack, MS);
	export_run(f);
	expect(f, 0, "timeDeltas", "[1,1,0.019999,1]");
}

static void add_event(struct profile_thread *row, uint64_t time, stack_id stack, uint8_t event,
		      uint32_t weight)
{
	export_add_sample(row, time, stack, 0);
	vec_last(&row->samples.open).event = event;
	vec_last(&row->samples.open).weight = weight;
}

/* Drawn relative to the event's highest rate, which is 100 %. */
CASE(events_are_drawn_by_their_rate)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "make");
	stack_id stack = a_stack(f);

	/*
	 * Four within an interval, then one, then two; the clock's samples between them are in
	 * their own row.
	 */
	for (uint64_t i = 0; i < 4; i++) {
		add_event(row, MS / 2 + i * MS / 4, stack, 1, 1);
		export_add_sample(row, MS / 2 + i * MS / 4, NO_STACK, 0);
	}
	add_event(row, 20 * MS, stack, 1, 1);
	add_event(row, 21 * MS, stack, 1, 2);
	/* The thread's own CPU time, at its end, has no place among rates. */
	add_event(row, 21 * MS + 1000, NO_STACK, 1, 0);
	vec_last(&row->samples.open).cpu_delta = 5 * MS;
	export_run(f);
	export_expect(f->root, "threads.1.profView", "\"event\"");
	expect(f, 0, "length", "4");
	expect(f, 1, "stack", "[0,0,0,0,null,null,0,0,null]");
	expect(f, 1, "timeDeltas", "[0.5,0.25,0.25,0.25,1,16.75,1,1,0.001]");
	expect(f, 1, "threadCPUDelta", "[0,125000,187500,250000,0,0,250000,500000,0]");
	expect(f, 1, "weight", "[1,1,1,1,0,0,1,2,0]");
}

/* Each event has its own scale, common to its rows. */
CASE(events_have_a_scale_each)
{
	struct exported *f = *state;
	stack_id stack = a_stack(f);

	for (uint32_t i = 1; i <= 2; i++) {
		struct profile_thread *row = export_add_thread(f, 10, 9 + i, "make");

		add_event(row, 20 * MS, stack, 1, i);
		add_event(row, 20 * MS, stack, 2, i * 4);
	}
	export_run(f);
	for (size_t i = 1; i <= 2; i++) {
		expect(f, i, "threadCPUDelta", "[0,0,500000]");
		expect(f, 3 + i, "threadCPUDelta", "[0,0,1000000]");
	}
}
