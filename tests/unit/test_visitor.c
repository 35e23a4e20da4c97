/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "lib/live/bpf/visitor.h"
#include "tests/unit/test.h"

#define FOREVER_NS 60000000000ull

/* Calls of the pass. Each writes to `told`, after it has read from `gate`, if open. */
struct log {
	unsigned int passes, last_passes;
	uint32_t pids[VISITOR_PROCESSES_MAX];
	size_t count;
	int told[2], gate[2];
};

static void log_init(struct log *log)
{
	*log = (struct log){.gate = {-1, -1}};
	assert_int_equal(pipe(log->told), 0);
}

static void log_release(const struct log *log)
{
	close(log->told[0]);
	close(log->told[1]);
}

static struct pass_cost pass(void *ctx, const uint32_t *pids, size_t count, bool is_last)
{
	struct log *log = ctx;
	char byte = is_last;

	if (log->gate[0] >= 0)
		assert_int_equal(read(log->gate[0], &byte, 1), 1);
	log->passes++;
	log->last_passes += is_last;
	log->count = count;
	memcpy(log->pids, pids, count * sizeof(*pids));
	assert_int_equal(write(log->told[1], &byte, 1), 1);
	return (struct pass_cost){0};
}

static void wait_for_pass(const struct log *log)
{
	char byte;

	assert_int_equal(read(log->told[0], &byte, 1), 1);
}

TEST(passes_come_again_and_the_last_one_is_told)
{
	const uint32_t pids[] = {7, 8};
	struct visitor *v;
	struct log log;

	log_init(&log);
	v = visitor_start(pass, &log);
	assert_non_null(v);
	visitor_set_processes(v, pids, 2);
	wait_for_pass(&log);
	wait_for_pass(&log);
	visitor_finish(v);
	assert_true(visitor_wait(v, FOREVER_NS));
	assert_true(visitor_free(v, 0));
	assert_true(log.passes >= 3);
	assert_int_equal(log.last_passes, 1);
	assert_int_equal(log.count, 2);
	assert_int_equal(log.pids[1], 8);
	log_release(&log);
}

TEST(finishing_ends_the_pause)
{
	struct visitor *v;
	struct log log;

	log_init(&log);
	v = visitor_start(pass, &log);
	assert_non_null(v);
	/* However long the machine took until here, the last pass is the last. */
	assert_true(visitor_free(v, FOREVER_NS));
	assert_int_equal(log.last_passes, 1);
	log_release(&log);
}

TEST(a_visitor_that_hangs_is_left_alone)
{
	struct visitor *v;
	struct log log;

	log_init(&log);
	assert_int_equal(pipe(log.gate), 0);
	v = visitor_start(pass, &log);
	assert_non_null(v);
	assert_false(visitor_free(v, 1));
	/* It must not touch freed memory when it goes on: a pass, perhaps, and the last one. */
	assert_int_equal(write(log.gate[1], "ab", 2), 2);
	do {
		wait_for_pass(&log);
	} while (!__atomic_load_n(&log.last_passes, __ATOMIC_ACQUIRE));
}

TEST(pauses_follow_the_cost)
{
	const struct pass_cost nothing = {0}, few = {.search_ns = 80000},
			       many = {.search_ns = 6000000};
	const struct pass_cost arming = {.search_ns = 6000000, .visit_ns = 200000000};
	const struct pass_cost visits = {.search_ns = 80000, .visit_ns = 2000000};

	assert_int_equal(visitor_pause(&nothing), VISITOR_PAUSE_NS);
	assert_int_equal(visitor_pause(&few), VISITOR_PAUSE_NS);
	/* 10,000 threads: searching takes 0.2 %. */
	assert_int_equal(visitor_pause(&many), 3000000000);
	assert_int_equal(visitor_pause(&arming), 4000000000);
	assert_int_equal(visitor_pause(&visits), 140000000);
}
