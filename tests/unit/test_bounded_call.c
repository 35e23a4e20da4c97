/* SPDX-License-Identifier: MIT */

#include <semaphore.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/workers.h"
#include "tests/unit/test.h"

#define LONG_NS 60000000000ull

struct fixture {
	sem_t may_end, is_released;
	int answer;
};

static void run(void *ctx)
{
	struct fixture *f = ctx;

	sem_wait(&f->may_end);
	f->answer = 42;
}

static void release(void *ctx)
{
	struct fixture *f = ctx;

	sem_post(&f->is_released);
}

TEST(a_call_that_comes_back_has_its_result)
{
	struct fixture f = {0};

	sem_init(&f.may_end, 0, 1);
	sem_init(&f.is_released, 0, 0);
	assert_true(bounded_call(run, release, &f, LONG_NS));
	assert_int_equal(f.answer, 42);
	assert_int_equal(sem_trywait(&f.is_released), -1);
	assert_false(threads_are_left());
}

/* Last: a thread is left behind from then on. */
TEST(who_comes_too_late_releases)
{
	struct fixture f = {0};

	sem_init(&f.may_end, 0, 0);
	sem_init(&f.is_released, 0, 0);
	assert_false(bounded_call(run, release, &f, 1000000));
	assert_true(threads_are_left());
	assert_int_equal(f.answer, 0);
	sem_post(&f.may_end);
	assert_int_equal(sem_wait(&f.is_released), 0);
	assert_int_equal(f.answer, 42);
}
