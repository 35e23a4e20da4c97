/* SPDX-License-Identifier: MIT */
/* The critical path through timelines that are made by hand and at random. */
#include <stdlib.h>
#include <string.h>

#include "lib/path/path_walk.h"
#include "tests/unit/test.h"

#define BEGIN 1000
#define MAIN 0
#define OTHER 1
#define THIRD 2
#define FUTEX 202

/* The command's first thread runs from BEGIN to `end`. */
static struct timelines begin_at(uint64_t end)
{
	struct timelines t;

	timelines_init(&t);
	timelines_begin(&t, MAIN, 7, BEGIN);
	timelines_end(&t, MAIN, end);
	return t;
}

static void add_wait(struct timelines *t, thread_id id, uint64_t start, uint64_t woken,
		     uint64_t end, thread_id waker)
{
	const struct timeline_wait wait = {
		.start = start,
		.end = end,
		.woken = woken,
		.queued = end - woken,
		.waker = waker,
		.ended_by = waker == NO_THREAD ? END_INTERRUPT : END_THREAD,
		.reason = {.call = FUTEX, .state = WAIT_SLEEPING},
	};

	timelines_add(t, id, &wait);
}

static void add_preemption(struct timelines *t, thread_id id, uint64_t start, uint64_t end)
{
	const struct timeline_wait wait = {
		.start = start,
		.end = end,
		.queued = end - start,
		.waker = NO_THREAD,
		.reason = {.call = -1, .state = WAIT_RUNNABLE},
	};

	timelines_add(t, id, &wait);
}

/* The parts follow one another from begin to end, unless they are sums. */
static void assert_whole(const struct path *path, bool is_exact)
{
	uint64_t sum = 0, at = path->begin;

	vec_for_each(&path->parts, const struct path_part *, part) {
		assert_true(part->start < part->end && part->time <= part->end - part->start);
		if (is_exact)
			assert_int_equal(part->start, at);
		at = part->end;
		sum += part->time;
	}
	assert_int_equal(sum, path->end - path->begin);
}

struct expected {
	uint64_t start, end;
	thread_id thread;
	enum path_kind kind;
};

/* `expected` ends with an empty row. */
static void assert_parts(const struct path *path, const struct expected *expected)
{
	size_t i = 0;

	assert_whole(path, true);
	for (; expected[i].end; i++) {
		assert_true(i < path->parts.count);
		assert_int_equal(path->parts.items[i].start, expected[i].start);
		assert_int_equal(path->parts.items[i].end, expected[i].end);
		assert_int_equal(path->parts.items[i].thread, expected[i].thread);
		assert_int_equal(path->parts.items[i].kind, expected[i].kind);
	}
	assert_int_equal(path->parts.count, i);
}

/* Walks and releases. */
static void assert_path(struct timelines *t, const struct expected *expected)
{
	struct path path;

	path_walk(t, 0, PATH_PARTS_MAX, &path);
	assert_parts(&path, expected);
	vec_release(&path.parts);
	timelines_release(t);
}

TEST(a_thread_alone_runs)
{
	static const struct expected parts[] = {{1000, 2000, MAIN, PATH_RUNS}, {0}};
	struct timelines t = begin_at(2000);

	assert_path(&t, parts);
}

TEST(a_waker_leads_on_and_its_past_counts)
{
	static const struct expected parts[] = {
		{1000, 1100, MAIN, PATH_RUNS},
		{1100, 1700, OTHER, PATH_RUNS},
		{1700, 1750, MAIN, PATH_QUEUED},
		{1750, 2000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	timelines_end(&t, OTHER, 1800);
	add_wait(&t, MAIN, 1200, 1700, 1750, OTHER);
	assert_path(&t, parts);
}

TEST(an_interrupt_makes_the_wait_itself_the_cause)
{
	static const struct expected parts[] = {
		{1000, 1200, MAIN, PATH_RUNS},
		{1200, 1700, MAIN, PATH_WAITS},
		{1700, 2000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	add_wait(&t, MAIN, 1200, 1700, 1700, NO_THREAD);
	assert_path(&t, parts);
}

TEST(a_cpu_that_was_idle_takes_time_to_wake_up)
{
	static const struct expected parts[] = {
		{1000, 1200, MAIN, PATH_RUNS},	 {1200, 1700, MAIN, PATH_WAITS},
		{1700, 1730, MAIN, PATH_WAKING}, {1730, 1750, MAIN, PATH_QUEUED},
		{1750, 2000, MAIN, PATH_RUNS},	 {0},
	};
	const struct timeline_wait wait = {
		.start = 1200,
		.end = 1750,
		.woken = 1700,
		.queued = 20,
		.waker = NO_THREAD,
		.ended_by = END_NOT_RECORDED,
		.reason = {.call = FUTEX, .state = WAIT_SLEEPING},
	};
	struct timelines t = begin_at(2000);

	timelines_add(&t, MAIN, &wait);
	assert_path(&t, parts);
}

TEST(who_is_preempted_is_queued)
{
	static const struct expected parts[] = {
		{1000, 1200, MAIN, PATH_RUNS},
		{1200, 1700, MAIN, PATH_QUEUED},
		{1700, 2000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	add_preemption(&t, MAIN, 1200, 1700);
	assert_path(&t, parts);
}

/* The wake-up comes while the thread leaves its CPU: it was never blocked. */
TEST(who_is_woken_while_it_leaves_is_queued)
{
	static const struct expected parts[] = {
		{1000, 1200, MAIN, PATH_RUNS},
		{1200, 1300, MAIN, PATH_QUEUED},
		{1300, 2000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	timelines_birth(&t, OTHER, 7, MAIN, 1050);
	add_wait(&t, MAIN, 1200, 1195, 1300, OTHER);
	assert_path(&t, parts);
}

TEST(the_command_ends_with_its_last_thread)
{
	static const struct expected parts[] = {
		{1000, 1100, MAIN, PATH_RUNS},
		{1100, 3000, OTHER, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	timelines_end(&t, OTHER, 3000);
	/* A process that it leaves behind. */
	timelines_birth(&t, THIRD, 8, MAIN, 1200);
	timelines_end(&t, THIRD, 4000);
	assert_path(&t, parts);
}

TEST(what_no_record_tells_is_unknown)
{
	static const struct expected parts[] = {
		{1000, 1500, OTHER, PATH_UNKNOWN},
		{1500, 1700, OTHER, PATH_RUNS},
		{1700, 2000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(2000);

	timelines_birth(&t, OTHER, 7, NO_THREAD, 1500);
	add_wait(&t, MAIN, 1200, 1700, 1700, OTHER);
	assert_path(&t, parts);
}

TEST(two_that_wake_each_other_at_once_are_no_loop)
{
	struct timelines t = begin_at(2000);
	struct path path;

	timelines_birth(&t, OTHER, 7, MAIN, 1000);
	add_wait(&t, MAIN, 1200, 1700, 1700, OTHER);
	add_wait(&t, OTHER, 1300, 1700, 1700, MAIN);
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_whole(&path, true);
	vec_release(&path.parts);
	timelines_release(&t);
}

/* Python's threads wait so for the GIL: a timer ends the wait, not the holder. */
TEST(the_holder_of_a_lock_is_inferred)
{
	struct timelines t = begin_at(2000000);
	struct path path;

	timelines_birth(&t, OTHER, 7, MAIN, 2000);
	timelines_birth(&t, THIRD, 7, MAIN, 2000);
	add_wait(&t, OTHER, 2500, 3000, 3000, MAIN);
	add_wait(&t, MAIN, 400000, 1400000, 1400000, NO_THREAD);
	vec_last(&t.rows.items[MAIN].waits).is_lock = true;
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_whole(&path, true);
	assert_int_equal(path.parts.items[path.parts.count - 2].thread, OTHER);
	assert_true(path.parts.items[path.parts.count - 2].is_inferred);
	assert_int_equal(path.inferred_ns, 1400000 - 3000);
	vec_release(&path.parts);
	vec_last(&t.rows.items[MAIN].waits).is_lock = false;
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_int_equal(path.inferred_ns, 0);
	vec_release(&path.parts);
	timelines_release(&t);
}

/* Java's VM thread stops all others so once in a second. Between two naps, it polls. */
TEST(who_is_only_interrupted_remains_on_the_path)
{
	static const struct expected parts[] = {
		{1000, 60000, MAIN, PATH_RUNS},
		{60000, 60100, OTHER, PATH_WAITS},
		{60100, 60700, OTHER, PATH_RUNS},
		{60700, 70000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(70000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	add_wait(&t, OTHER, 1200, 59900, 59900, NO_THREAD);
	vec_last(&t.rows.items[OTHER].waits).is_lock = true;
	add_wait(&t, OTHER, 59950, 60100, 60100, NO_THREAD);
	add_wait(&t, MAIN, 60000, 60700, 60700, OTHER);
	assert_path(&t, parts);
}

/* Java's service thread looks after each nap whether it is to end. */
TEST(who_waits_for_one_that_naps_remains_on_the_path_before)
{
	static const struct expected parts[] = {
		{1000, 60000, MAIN, PATH_RUNS},
		{60000, 61000, OTHER, PATH_WAITS},
		{61000, 61700, OTHER, PATH_RUNS},
		{61700, 70000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(70000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	add_wait(&t, OTHER, 1200, 31000, 31000, NO_THREAD);
	vec_last(&t.rows.items[OTHER].waits).is_lock = true;
	add_wait(&t, OTHER, 31200, 61000, 61000, NO_THREAD);
	vec_last(&t.rows.items[OTHER].waits).is_lock = true;
	add_wait(&t, MAIN, 60000, 61700, 61700, OTHER);
	assert_path(&t, parts);
}

/* Java's VM thread sleeps until others have stopped, which takes long if these get no CPU. */
TEST(sleeps_after_a_nap_are_no_work)
{
	static const struct expected parts[] = {
		{1000, 65000, MAIN, PATH_RUNS},
		{65000, 66000, OTHER, PATH_WAITS},
		{66000, 66100, OTHER, PATH_RUNS},
		{66100, 70000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(70000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	add_wait(&t, OTHER, 1200, 59900, 59900, NO_THREAD);
	vec_last(&t.rows.items[OTHER].waits).is_lock = true;
	for (uint64_t at = 60000; at < 66000; at += 1000) {
		add_wait(&t, OTHER, at, at + 1000, at + 1000, NO_THREAD);
		vec_last(&t.rows.items[OTHER].waits).is_sleep = true;
	}
	add_wait(&t, MAIN, 65000, 66100, 66100, OTHER);
	assert_path(&t, parts);
}

/* Go's monitor sleeps, and now and then ends the wait for another thread. */
TEST(who_is_woken_by_one_that_polls_waited_for_another)
{
	static const struct expected parts[] = {
		{1000, 3000, MAIN, PATH_RUNS},	       {3000, 800000, THIRD, PATH_RUNS},
		{800000, 1500000, THIRD, PATH_QUEUED}, {1500000, 1801500, THIRD, PATH_RUNS},
		{1801500, 2000000, MAIN, PATH_RUNS},   {0},
	};
	struct timelines t = begin_at(2000000);
	struct timeline_wait nap = {
		.start = 2000,
		.end = 51000,
		.ended_by = END_INTERRUPT,
		.is_sleep = true,
		.reason = {.state = WAIT_SLEEPING},
	};

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	timelines_birth(&t, THIRD, 7, MAIN, 1200);
	for (; nap.start < 1800000; nap.start += 50000, nap.end += 50000)
		timelines_add(&t, OTHER, &nap);
	add_wait(&t, THIRD, 2500, 3000, 3000, MAIN);
	add_preemption(&t, THIRD, 800000, 1500000);
	add_wait(&t, MAIN, 400000, 1801500, 1801500, OTHER);
	vec_last(&t.rows.items[MAIN].waits).is_lock = true;
	assert_path(&t, parts);
}

/* Kernels do not report each switch: that to a thread that joined another one may be lost. */
TEST(a_wait_without_a_record_of_its_end_is_for_the_thread_that_ended)
{
	static const struct expected parts[] = {
		{1000, 1100, MAIN, PATH_RUNS},
		{1100, 890000, OTHER, PATH_RUNS},
		{890000, 900000, MAIN, PATH_WAKING},
		{900000, 1000000, MAIN, PATH_RUNS},
		{0},
	};
	struct timelines t = begin_at(1000000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	timelines_end(&t, OTHER, 890000);
	timelines_birth(&t, THIRD, 7, MAIN, 1200);
	timelines_end(&t, THIRD, 880000);
	add_wait(&t, MAIN, 300000, 900000, 900000, NO_THREAD);
	vec_last(&t.rows.items[MAIN].waits).is_lock = true;
	vec_last(&t.rows.items[MAIN].waits).ended_by = END_UNKNOWN;
	assert_path(&t, parts);
}

/* The waker had slept, but then worked for long. */
TEST(who_waits_for_work_after_a_nap_is_not_only_interrupted)
{
	static const struct expected parts[] = {
		{1000, 1100, MAIN, PATH_RUNS},	  {1100, 1200, OTHER, PATH_RUNS},
		{1200, 30000, OTHER, PATH_WAITS}, {30000, 60700, OTHER, PATH_RUNS},
		{60700, 70000, MAIN, PATH_RUNS},  {0},
	};
	struct timelines t = begin_at(70000);

	timelines_birth(&t, OTHER, 7, MAIN, 1100);
	add_wait(&t, OTHER, 1200, 30000, 30000, NO_THREAD);
	vec_last(&t.rows.items[OTHER].waits).is_lock = true;
	add_wait(&t, MAIN, 40000, 60700, 60700, OTHER);
	assert_path(&t, parts);
}

TEST(without_a_command_there_is_no_path)
{
	struct timelines t;
	struct path path;

	timelines_init(&t);
	timelines_birth(&t, MAIN, 7, NO_THREAD, 1000);
	path_walk(&t, 2000, PATH_PARTS_MAX, &path);
	assert_int_equal(path.parts.count, 0);
	timelines_release(&t);
}

/* Two threads with a barrier between stages of random length: the longer ones are the path. */
TEST(the_longer_of_two_is_the_path)
{
	enum { ROUNDS = 1000 };
	struct timelines t = begin_at(0);
	uint64_t at = BEGIN, sum = 0, ran[2] = {0, 0}, longer[2] = {0, 0};
	struct path path;

	srandom(1);
	timelines_birth(&t, OTHER, 7, MAIN, BEGIN);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = 100 + (uint64_t)random() % 1000, b = 100 + (uint64_t)random() % 1000;
		thread_id first = a < b ? MAIN : OTHER, last = a < b ? OTHER : MAIN;
		uint64_t length = a < b ? b : a;

		a += a == b;
		add_wait(&t, first, at + (a < b ? a : b), at + length, at + length, last);
		longer[last] += length;
		sum += length;
		at += length;
	}
	timelines_end(&t, MAIN, at);
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_whole(&path, true);
	vec_for_each(&path.parts, const struct path_part *, part) {
		assert_int_equal(part->kind, PATH_RUNS);
		ran[part->thread] += part->time;
	}
	assert_int_equal(path.end - path.begin, sum);
	assert_true(ran[MAIN] + ran[OTHER] == sum);
	assert_true(llabs((long long)ran[MAIN] - (long long)longer[MAIN]) < 4000);
	vec_release(&path.parts);
	timelines_release(&t);
}

static uint64_t random_up_to(uint64_t max)
{
	return (uint64_t)random() % (max + 1);
}

/* Anything may be in a capture. */
static struct timeline_wait random_wait(unsigned int threads, uint64_t end)
{
	uint64_t start = random_up_to(end);

	return (struct timeline_wait){
		.start = start,
		.end = start + random_up_to(300),
		.woken = random() % 4 ? start + random_up_to(400) - random_up_to(100) : 0,
		.queued = random_up_to(200),
		.waker = random() % 5 ? (thread_id)random_up_to(threads + 2) : NO_THREAD,
		.ended_by = (uint8_t)random_up_to(END_NOT_RECORDED),
		.is_lock = random() % 2,
		.is_sleep = random() % 2,
		.reason = {.call = random() % 2 ? FUTEX : -1,
			   .state = (uint8_t)random_up_to(WAIT_STATE_COUNT - 1)},
	};
}

static void walk_at_random(unsigned int seed)
{
	unsigned int threads = 1 + seed % 12, waits = 40 * (seed % 60);
	uint64_t end = 2000 + 100 * (seed % 97);
	struct timelines t = begin_at(end);
	struct path path;

	srandom(seed);
	t.max = seed % 3 ? 0 : 200;
	for (thread_id id = 1; id < threads; id++) {
		if (random() % 8)
			timelines_birth(&t, id, 7 + id % 2, (thread_id)random_up_to(threads),
					random_up_to(end));
		if (random() % 2)
			timelines_end(&t, id, random_up_to(end + 100));
	}
	for (unsigned int i = 0; i < waits; i++) {
		struct timeline_wait wait = random_wait(threads, end);

		/* Mostly in order, as records are. */
		if (random() % 8)
			wait.start = end * i / waits;
		if (wait.end < wait.start)
			wait.end = wait.start + random_up_to(50);
		if (wait.ended_by == END_THREAD && wait.waker == NO_THREAD)
			wait.ended_by = END_INTERRUPT;
		timelines_add(&t, (thread_id)random_up_to(threads - 1), &wait);
	}
	path_walk(&t, end, PATH_PARTS_MAX, &path);
	assert_whole(&path, true);
	vec_release(&path.parts);
	path_walk_span(&t, (thread_id)random_up_to(threads), BEGIN + 200, end, PATH_PARTS_MAX,
		       &path);
	assert_whole(&path, true);
	vec_release(&path.parts);
	timelines_release(&t);
}

/* The waker had begun its work before the wait. */
TEST(a_span_ends_where_its_thread_began_to_wait)
{
	static const struct expected expected[] = {
		{1100, 1300, MAIN, PATH_RUNS},	 {1300, 1500, OTHER, PATH_RUNS},
		{1500, 1600, OTHER, PATH_WAITS}, {1600, 1700, OTHER, PATH_RUNS},
		{1700, 1900, MAIN, PATH_RUNS},	 {0},
	};
	struct timelines t = begin_at(2000);
	struct path path;

	timelines_birth(&t, OTHER, 7, MAIN, 1050);
	add_wait(&t, OTHER, 1500, 1600, 1600, NO_THREAD);
	add_wait(&t, MAIN, 1300, 1700, 1700, OTHER);
	path_walk_span(&t, MAIN, 1100, 1900, PATH_PARTS_MAX, &path);
	assert_parts(&path, expected);
	vec_release(&path.parts);
	timelines_release(&t);
}

TEST(any_timelines_have_a_path_that_adds_up)
{
	for (unsigned int seed = 1; seed <= 2000; seed++)
		walk_at_random(seed);
}

/* Times of parts that are summed up stay the same. */
TEST(a_long_path_consists_of_sums)
{
	enum { WAITS = 3 * PATH_PARTS_MAX };
	struct timelines t = begin_at(BEGIN + 20ull * WAITS);
	uint64_t kinds[PATH_KIND_COUNT] = {0};
	struct path path;

	for (uint64_t i = 0; i < WAITS; i++)
		add_wait(&t, MAIN, BEGIN + 20 * i + 5, BEGIN + 20 * i + 12, BEGIN + 20 * i + 15,
			 NO_THREAD);
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_whole(&path, false);
	assert_true(path.parts.count <= PATH_PARTS_MAX);
	vec_for_each(&path.parts, const struct path_part *, part)
		kinds[part->kind] += part->time;
	assert_int_equal(kinds[PATH_RUNS], 10ull * WAITS);
	assert_int_equal(kinds[PATH_WAITS], 7ull * WAITS);
	assert_int_equal(kinds[PATH_QUEUED], 3ull * WAITS);
	vec_release(&path.parts);
	timelines_release(&t);
}

TEST(when_there_are_too_many_waits_the_older_ones_are_forgotten)
{
	struct timelines t = begin_at(BEGIN + 20 * 1000);
	struct path path;

	t.max = 100;
	for (uint64_t i = 0; i < 1000; i++)
		add_wait(&t, MAIN, BEGIN + 20 * i, BEGIN + 20 * i + 10, BEGIN + 20 * i + 10,
			 NO_THREAD);
	assert_true(t.count <= t.max && t.begin > BEGIN + 20 * 800);
	assert_int_equal(t.left_out, t.begin - BEGIN);
	path_walk(&t, 0, PATH_PARTS_MAX, &path);
	assert_whole(&path, true);
	assert_int_equal(path.begin, t.begin);
	vec_release(&path.parts);
	timelines_release(&t);
}
