/* SPDX-License-Identifier: MIT */
/* Replays of commands with known threads: lib/path/path_replay.h. Times are ms. */
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/path/path_replay.h"
#include "tests/unit/test.h"

#define MS 1000000ull
#define FUTEX 202

enum { MAIN, ONE, TWO };

static struct timelines begin(uint64_t end)
{
	struct timelines t;

	timelines_init(&t);
	timelines_begin(&t, MAIN, 7, 1 * MS);
	timelines_end(&t, MAIN, (1 + end) * MS);
	return t;
}

static void add_thread(struct timelines *t, thread_id id, uint64_t start, uint64_t end)
{
	timelines_birth(t, id, 7, MAIN, (1 + start) * MS);
	timelines_end(t, id, (1 + end) * MS);
}

/* A wait in [start, end), of which the last `queued` ms are for a CPU. waker NO_THREAD: a timer. */
static void add_wait(struct timelines *t, thread_id id, uint64_t start, uint64_t end,
		     uint64_t queued, thread_id waker)
{
	timelines_add(t, id,
		      &(struct timeline_wait){
			      .start = (1 + start) * MS,
			      .end = (1 + end) * MS,
			      .woken = (1 + end - queued) * MS,
			      .queued = queued * MS,
			      .waker = waker,
			      .ended_by = waker == NO_THREAD ? END_INTERRUPT : END_THREAD,
			      .reason = {.call = FUTEX, .state = WAIT_SLEEPING},
		      });
}

static void add_queue(struct timelines *t, thread_id id, uint64_t start, uint64_t end)
{
	timelines_add(t, id,
		      &(struct timeline_wait){
			      .start = (1 + start) * MS,
			      .end = (1 + end) * MS,
			      .queued = (end - start) * MS,
			      .waker = NO_THREAD,
			      .reason = {.call = -1, .state = WAIT_RUNNABLE},
		      });
}

/* Replays on `cpus`; returns the time, ms. */
static uint64_t replay_on(const struct timelines *t, unsigned int cpus)
{
	const struct replay_change change = {.cpus = cpus};
	struct replay r;
	uint64_t ns;

	assert_true(replay_init(&r, t, 0));
	ns = replay_run(&r, &change);
	replay_release(&r);
	return (ns + MS / 2) / MS;
}

/* Replays with a factor for the running time of one thread. */
static uint64_t replay_with(const struct timelines *t, thread_id id, float factor)
{
	struct replay_change change = {.cpus = 2};
	struct replay r;
	float *factors;
	uint64_t ns;

	assert_true(replay_init(&r, t, 0));
	factors = xcalloc(r.ops.count, sizeof(*factors));
	for (uint32_t i = 0; i < r.ops.count; i++)
		factors[i] = i >= r.first.items[id] && i < r.first.items[id + 1] ? factor : 1;
	change.factors = factors;
	ns = replay_run(&r, &change);
	free(factors);
	replay_release(&r);
	return (ns + MS / 2) / MS;
}

/* MAIN begins ONE for 60 ms and TWO for 40, and waits for both; then runs 20 ms. */
static struct timelines fork_and_join(void)
{
	struct timelines t = begin(80);

	add_thread(&t, ONE, 0, 60);
	add_thread(&t, TWO, 0, 40);
	add_wait(&t, MAIN, 0, 40, 0, TWO);
	add_wait(&t, MAIN, 40, 60, 0, ONE);
	return t;
}

TEST(an_unchanged_command_takes_as_long_as_it_did)
{
	struct timelines t = fork_and_join();

	assert_int_equal(replay_on(&t, 2), 80);
	assert_int_equal(replay_on(&t, 0), 80);
	timelines_release(&t);
}

TEST(on_one_cpu_threads_share_it)
{
	struct timelines t = fork_and_join();

	/* 60 + 40 + 20 */
	assert_int_equal(replay_on(&t, 1), 120);
	timelines_release(&t);
}

TEST(beyond_a_point_the_other_thread_is_the_longest)
{
	struct timelines t = fork_and_join();

	assert_int_equal(replay_with(&t, ONE, 0.75f), 65);
	assert_int_equal(replay_with(&t, ONE, 0.1f), 60);
	assert_int_equal(replay_with(&t, TWO, 0.1f), 80);
	timelines_release(&t);
}

TEST(time_for_a_cpu_is_none_of_the_commands)
{
	struct timelines t = begin(100);

	/* Others ran for 40 ms. */
	add_queue(&t, MAIN, 30, 70);
	assert_int_equal(replay_on(&t, 2), 60);
	timelines_release(&t);
}

TEST(a_timer_takes_its_time)
{
	struct timelines t = begin(100);

	add_wait(&t, MAIN, 20, 90, 0, NO_THREAD);
	assert_int_equal(replay_on(&t, 1), 100);
	assert_int_equal(replay_with(&t, MAIN, 0.5f), 85);
	timelines_release(&t);
}

/* ONE asks every 10 ms whether MAIN has something for it, which it has after 100 ms. */
TEST(a_poll_ends_as_soon_as_there_is_something)
{
	struct timelines t = begin(120);

	add_thread(&t, ONE, 0, 110);
	for (uint64_t at = 0; at < 90; at += 10)
		add_wait(&t, ONE, at, at + 10, 0, NO_THREAD);
	add_wait(&t, ONE, 90, 100, 0, MAIN);
	add_wait(&t, MAIN, 100, 110, 0, ONE);
	assert_int_equal(replay_on(&t, 2), 120);
	/* 50 + 10 + 5 */
	assert_int_equal(replay_with(&t, MAIN, 0.5f), 65);
	timelines_release(&t);
}

/* On a busy machine, records are lost: the end of a wait is then unknown. */
TEST(a_poll_may_have_unknown_ends)
{
	struct timelines t = begin(120);

	add_thread(&t, ONE, 0, 110);
	for (uint64_t at = 0; at < 90; at += 10)
		add_wait(&t, ONE, at, at + 10, 0, NO_THREAD);
	t.rows.items[ONE].waits.items[7].ended_by = END_UNKNOWN;
	add_wait(&t, ONE, 90, 100, 0, MAIN);
	add_wait(&t, MAIN, 100, 110, 0, ONE);
	assert_int_equal(replay_on(&t, 2), 120);
	assert_int_equal(replay_with(&t, MAIN, 0.5f), 65);
	timelines_release(&t);
}

TEST(waits_can_be_left_out)
{
	struct timelines t = fork_and_join();
	struct replay_change change = {.cpus = 2};
	bool dropped[2] = {true, true};
	struct replay r;

	assert_true(replay_init(&r, &t, 0));
	assert_int_equal(r.waits.count, 2);
	change.dropped = dropped;
	/* Three threads share the CPUs for 30 ms, then ONE has 40 ms left. */
	assert_int_equal((replay_run(&r, &change) + MS / 2) / MS, 70);
	replay_release(&r);
	timelines_release(&t);
}

TEST(the_thread_that_ends_the_process_is_waited_for)
{
	struct timelines t = begin(50);

	add_thread(&t, ONE, 0, 50);
	add_wait(&t, ONE, 0, 50, 0, MAIN);
	t.leader = MAIN;
	assert_int_equal(replay_with(&t, MAIN, 0.5f), 25);
	timelines_release(&t);
}

TEST(too_many_waits_are_not_replayed)
{
	struct timelines t = begin(REPLAY_OPS_MAX);
	struct replay r;

	for (uint64_t i = 0; i < REPLAY_OPS_MAX / 2; i++)
		add_queue(&t, MAIN, 2 * i, 2 * i + 1);
	assert_false(replay_init(&r, &t, 0));
	timelines_release(&t);
	timelines_init(&t);
	assert_false(replay_init(&r, &t, 0));
	timelines_release(&t);
}

static uint64_t seed;

static uint64_t below(uint64_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % limit;
}

/* Waits at random, most of which no program could have: the replay ends nevertheless. */
TEST(any_waits_are_replayed)
{
	for (seed = 1; seed < 2000000000ull * 500; seed += 2000000000ull) {
		uint64_t kept = seed;
		struct timelines t = begin(1000);
		struct replay r;

		add_thread(&t, ONE, below(100), 900);
		add_thread(&t, TWO, below(100), 900);
		for (uint64_t i = 0; i < 60; i++) {
			uint64_t start = i * 15 + below(10), end = start + 1 + below(30);
			thread_id waker = (thread_id)below(4);

			add_wait(&t, (thread_id)below(3), start, end, below(end - start),
				 waker == 3 ? NO_THREAD : waker);
		}
		assert_true(replay_init(&r, &t, 0));
		assert_true(replay_run(&r, &(struct replay_change){.cpus = 2}) <= 4000 * MS);
		replay_release(&r);
		timelines_release(&t);
		seed = kept;
	}
}
