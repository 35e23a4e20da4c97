/* SPDX-License-Identifier: MIT */
/* Latencies of threads whose parallelism is known. */
#include <errno.h>
#include <string.h>

#include "lib/query/select.h"
#include "lib/query/table.h"
#include "tests/unit/test.h"

#define INTERVAL 1000000u
#define START 1000000000u

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	p->meta.interval_ns = INTERVAL;
	p->meta.start_ns = START;
	return p;
}

static thread_id add_thread(struct profile *p, const char *name)
{
	uint32_t tid = (uint32_t)p->threads.rows.count + 1;

	return threads_add(&p->threads,
			   &(struct profile_thread){.pid = 1,
						    .tid = tid,
						    .name = strings_intern(&p->strings, name),
						    .process_name = NO_STRING,
						    .process_label = NO_STRING,
						    .arguments = NO_STRING});
}

static stack_id stack_of(struct profile *p, const char *name)
{
	struct func func = {.name = strings_intern(&p->strings, name),
			    .module = NO_MODULE,
			    .file = NO_SOURCE_FILE,
			    .is_named = true};
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL};

	frame.func = funcs_intern(&p->funcs, &func);
	frame.offset = frame.func;
	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

static void add_row(struct profile *p, thread_id thread, uint64_t time, const char *function,
		    uint32_t weight)
{
	samples_add(&threads_get(&p->threads, thread)->samples,
		    &(struct sample){.time = START + time,
				     .stack = stack_of(p, function),
				     .weight = weight,
				     .cpu = NO_CPU});
}

/* Adds ticks `weight` intervals apart: the first one at that part of an interval, in %. */
static void add_ticks(struct profile *p, thread_id thread, uint64_t from, uint64_t until,
		      uint64_t phase, uint32_t weight, const char *function)
{
	for (uint64_t at = from + weight - 1; at < until; at += weight)
		add_row(p, thread, at * INTERVAL + phase * INTERVAL / 100, function, weight);
}

static struct query select_latency(const struct profile *p, const struct query_filter *like)
{
	struct query_filter filter = like ? *like : QUERY_FILTER_ALL;
	struct error err = {0};
	struct query q;

	filter.latency = true;
	if (query_select(&q, p, &filter, &err))
		fail_msg("%s", err.text);
	return q;
}

/* "a 100 50": function, weight, latency in ticks; by descending latency. */
static void check_functions(struct profile *p, const struct query_filter *filter,
			    const char *expected)
{
	struct query q = select_latency(p, filter);
	struct strbuf text = {0};
	struct query_table t;
	uint64_t sum = 0;

	query_table_make(&t, &q, QUERY_BY_FUNCTION, NULL);
	query_table_sort(&t, QUERY_ORDER_LATENCY);
	vec_for_each(&t.rows, const struct query_row *, row) {
		strbuf_addf(&text, "%s%s %d %.6g", text.size ? ", " : "",
			    query_keys_text(t.keys, t.keys->rows.items[row->key].function),
			    (int)row->self, (double)t.latencies[row->key].self / LATENCY_UNIT);
		sum += t.latencies[row->key].self;
	}
	assert_string_equal(strbuf_text(&text), expected);
	assert_int_equal(sum, q.latency);
	strbuf_release(&text);
	query_table_release(&t);
	query_release(&q);
	profile_free(p);
}

static struct profile *serial_then_parallel(uint64_t phase, uint32_t weight)
{
	struct profile *p = new_profile();
	thread_id first = add_thread(p, "first"), second = add_thread(p, "second");

	add_ticks(p, first, 0, 400, 0, weight, "serial");
	add_ticks(p, first, 400, 600, 0, weight, "parallel");
	add_ticks(p, second, 400, 600, phase, weight, "parallel");
	return p;
}

/* The CPUs' ticks may be any part of an interval apart. */
TEST(test_serial_part)
{
	for (uint64_t phase = 0; phase < 50; phase += 5)
		check_functions(serial_then_parallel(phase, 1), NULL,
				"serial 400 400, parallel 400 200");
	/* Then the second thread starts and ends a quarter of an interval later. */
	check_functions(serial_then_parallel(75, 1), NULL, "serial 400 400, parallel 400 201");
	/* Ticks of a longer period. */
	check_functions(serial_then_parallel(0, 4), NULL, "serial 400 400, parallel 400 200");
}

TEST(test_parallelism_filter)
{
	struct query_filter filter = QUERY_FILTER_ALL;

	filter.parallel_min = filter.parallel_max = 1;
	check_functions(serial_then_parallel(10, 1), &filter, "serial 400 400");
	filter.parallel_min = 2;
	filter.parallel_max = 5;
	check_functions(serial_then_parallel(10, 1), &filter, "parallel 400 200");
	filter.parallel_min = 3;
	check_functions(serial_then_parallel(10, 1), &filter, "");
	/* Threads that are not selected run, too. */
	filter = QUERY_FILTER_ALL;
	filter.thread = "second";
	check_functions(serial_then_parallel(10, 1), &filter, "parallel 200 100");
}

TEST(test_many_threads)
{
	struct profile *p = new_profile();

	for (uint64_t i = 0; i < 64; i++)
		add_ticks(p, add_thread(p, "worker"), 0, 100, i * 99 / 64, 1, "work");
	{
		struct query q = select_latency(p, NULL);

		/* Half an interval at either end is uncertain. */
		assert_in_range(q.latency, 99 * LATENCY_UNIT, 103 * LATENCY_UNIT);
		query_release(&q);
	}
	profile_free(p);
}

/* A thread is never parallel to itself, however irregular its ticks. */
TEST(test_single_thread)
{
	struct profile *p = new_profile();
	thread_id thread = add_thread(p, "thread");
	uint64_t time = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		time += (uint64_t)i * 7919 % 1000 * INTERVAL / 500;
		add_row(p, thread, time, i % 3 ? "a" : "b", 1 + i % 4);
	}
	check_functions(p, NULL, "a 1665 1665, b 835 835");
}

/* Ticks were added to the last one with the same stack, of each 100 ms. */
TEST(test_merged_ticks)
{
	struct profile *p = new_profile();

	for (int i = 0; i < 2; i++) {
		thread_id thread = add_thread(p, "thread");
		uint64_t phase = (uint64_t)i * INTERVAL / 4;

		for (uint64_t window = 0; window < 10; window++) {
			add_row(p, thread, (window * 100 + 97) * INTERVAL + phase, "a", 60);
			add_row(p, thread, (window * 100 + 98) * INTERVAL + phase, "b", 30);
			add_row(p, thread, (window * 100 + 99) * INTERVAL + phase, "c", 10);
		}
	}
	check_functions(p, NULL, "a 1200 600, b 600 300, c 200 100");
}

/* A row of several short-lived threads, two of which ran at a time. */
TEST(test_merged_threads)
{
	struct profile *p = new_profile();
	thread_id thread = add_thread(p, "cc1 × 20");

	threads_get(&p->threads, thread)->is_folded = true;
	for (uint64_t i = 0; i < 100; i++) {
		add_row(p, thread, i * INTERVAL, "a", 1);
		add_row(p, thread, i * INTERVAL + INTERVAL / 5, "b", 1);
	}
	check_functions(p, NULL, "a 100 50, b 100 50");
}

/* Without a clock, the distance of the event's samples is that of a running thread. */
TEST(test_event)
{
	struct profile *p = new_profile();
	struct event_count *event = event_counts_get(&p->events, 1);

	event->name = strings_intern(&p->strings, "cycles");
	for (int i = 0; i < 2; i++) {
		thread_id thread = add_thread(p, "thread");

		for (uint64_t at = i ? 500 : 0; at < 1000; at++)
			samples_add(&threads_get(&p->threads, thread)->samples,
				    &(struct sample){
					    .time = START + at * 250000 + (uint64_t)i * 50000,
					    .stack = stack_of(p, i || at >= 500 ? "both" : "one"),
					    .weight = 1000,
					    .cpu = NO_CPU,
					    .event = 1,
				    });
	}
	check_functions(p, NULL, "both 1000000 500000, one 500000 500000");
}

/* Bins of a long recording are longer than the interval. */
TEST(test_long_recording)
{
	struct profile *p = new_profile();
	const uint64_t hour = 3600000;

	for (uint64_t i = 0; i < 2; i++) {
		thread_id thread = add_thread(p, "thread");

		add_ticks(p, thread, 0, 1000, i * 30, 1, "early");
		add_row(p, thread, 48 * hour * INTERVAL, "late", 1);
	}
	{
		struct query q = select_latency(p, NULL);

		assert_in_range(q.latency, 990 * LATENCY_UNIT, 1012 * LATENCY_UNIT);
		query_release(&q);
	}
	profile_free(p);
}

/* Any numbers of a file are survived. */
TEST(test_extreme_numbers)
{
	static const uint64_t intervals[] = {0, 1, INTERVAL, UINT64_MAX};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		struct profile *p = new_profile();
		thread_id thread = add_thread(p, "thread");
		struct query q;

		p->meta.interval_ns = intervals[i];
		add_row(p, thread, 0, "a", UINT32_MAX);
		add_row(p, thread, 1, "a", 1);
		add_row(p, thread, UINT64_MAX / 2, "a", UINT32_MAX);
		q = select_latency(p, NULL);
		assert_int_equal(q.latency, (2 * (uint64_t)UINT32_MAX + 1) * LATENCY_UNIT);
		query_release(&q);
		profile_free(p);
	}
}

TEST(test_no_times)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = serial_then_parallel(0, 1);
	struct error err = {0};
	struct query q;

	profile_add_text(p, FACT_NO_TIMES, NULL, "none");
	filter.parallel_min = filter.parallel_max = 1;
	assert_int_equal(query_select(&q, p, &filter, &err), -ENODATA);
	assert_string_equal(err.text, "--sort latency and --parallelism: the profile has no times");
	profile_free(p);
}
