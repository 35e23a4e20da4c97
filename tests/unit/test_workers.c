/* SPDX-License-Identifier: MIT */
#include "lib/base/workers.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

#define JOBS 100
#define STALL_NS 1000000000ull

/* On the heap, because threads that are left behind use it. */
struct fixture {
	int hanging[2]; /* a pipe that jobs read from */
	size_t first_hanging, after_hanging; /* jobs that do */
	size_t slow; /* a job */
	int ran[JOBS];
	size_t taken, given_up, asked, next;
	size_t hurry_after; /* questions; 0: never */
	enum workers_wish wish; /* then */
	struct worker_jobs jobs;
};

static void run(void *ctx, size_t job)
{
	struct fixture *f = ctx;
	char byte;

	/* Takes longer than the patience, but comes back now and then. */
	for (int i = 0; job == f->slow && i < 100; i++)
		poll(NULL, 0, 20);
	if (job >= f->first_hanging && job < f->after_hanging)
		(void)!read(f->hanging[0], &byte, 1);
	__atomic_add_fetch(&f->ran[job], 1, __ATOMIC_RELAXED);
}

static void take(void *ctx, size_t job)
{
	struct fixture *f = ctx;

	assert_int_equal(job, f->next++);
	assert_int_equal(__atomic_load_n(&f->ran[job], __ATOMIC_RELAXED), 1);
	f->taken++;
}

static void abandon(void *ctx, size_t job)
{
	struct fixture *f = ctx;

	assert_int_equal(job, f->next++);
	f->given_up++;
}

static enum workers_wish ask(void *ctx, size_t done)
{
	struct fixture *f = ctx;

	assert_true(done <= JOBS);
	return ++f->asked > f->hurry_after && f->hurry_after ? f->wish : WORKERS_GO_ON;
}

static struct fixture *fixture_new(size_t first_hanging, size_t after_hanging)
{
	/* Threads that are left behind may use a fixture for ever, so that all stay reachable. */
	static struct fixture *kept[16];
	static size_t count;
	struct fixture *f = xcalloc(1, sizeof(*f));

	assert_true(count < sizeof(kept) / sizeof(kept[0]));
	kept[count++] = f;
	assert_int_equal(pipe(f->hanging), 0);
	f->first_hanging = first_hanging;
	f->after_hanging = after_hanging;
	f->slow = JOBS;
	f->jobs = (struct worker_jobs){
		.count = JOBS,
		.run = run,
		.take = take,
		.abandon = abandon,
		.progress = ask,
		.ctx = f,
	};
	return f;
}

static void fixture_free(struct fixture *f)
{
	close(f->hanging[0]);
	close(f->hanging[1]);
	free(f);
}

TEST(jobs_are_taken_in_order)
{
	uint32_t order[JOBS];

	for (uint32_t i = 0; i < JOBS; i++)
		order[i] = JOBS - 1 - i;
	for (unsigned int threads = 1; threads < 12; threads += 5) {
		struct fixture *f = fixture_new(0, 0);

		f->jobs.order = order;
		assert_true(workers_run(&f->jobs, threads));
		assert_int_equal(f->taken, JOBS);
		assert_true(f->asked > 0);
		fixture_free(f);
	}
}

TEST(without_anybody_who_asks_jobs_are_waited_for)
{
	struct fixture *f = fixture_new(0, 0);

	f->jobs.progress = NULL;
	f->jobs.abandon = NULL;
	assert_true(workers_run(&f->jobs, 2));
	assert_int_equal(f->taken, JOBS);
	f->jobs.count = 0;
	assert_true(workers_run(&f->jobs, 2));
	fixture_free(f);
}

TEST(what_makes_progress_is_not_given_up)
{
	struct fixture *f = fixture_new(0, 0);

	f->slow = 99;
	f->jobs.stall_ns = STALL_NS;
	assert_true(workers_run(&f->jobs, 2));
	assert_int_equal(f->taken, JOBS);
	fixture_free(f);
}

/* These leave threads behind, so they come last. */
TEST(what_stalls_is_given_up_and_others_are_not)
{
	/* More than threads in the beginning. */
	struct fixture *f = fixture_new(10, 30);

	f->jobs.stall_ns = STALL_NS;
	assert_false(threads_are_left());
	assert_false(workers_run(&f->jobs, 2));
	assert_true(threads_are_left());
	assert_int_equal(f->given_up, 20);
	assert_int_equal(f->taken, JOBS - 20);
	/* They go on, and nobody takes what they do. */
	assert_int_equal(write(f->hanging[1], "12345678901234567890", 20), 20);
	for (size_t i = 10; i < 30; i++) {
		while (!__atomic_load_n(&f->ran[i], __ATOMIC_RELAXED))
			poll(NULL, 0, 1);
	}
	assert_int_equal(f->taken, JOBS - 20);
}

TEST(a_wish_to_end_gives_up_at_once)
{
	struct fixture *f = fixture_new(0, JOBS);

	f->hurry_after = 1;
	f->wish = WORKERS_END;
	assert_false(workers_run(&f->jobs, 2));
	assert_int_equal(f->given_up, JOBS);
}

TEST(a_wish_to_hurry_leaves_a_moment)
{
	struct fixture *f = fixture_new(50, 51);

	f->hurry_after = 1;
	f->wish = WORKERS_HURRY;
	assert_false(workers_run(&f->jobs, 2));
	assert_int_equal(f->given_up, 1);
	assert_int_equal(f->taken, JOBS - 1);
}
