/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define LONG_MS 60000
#define SHORT_MS 30

static struct wakeup wakeup;
static int ring;

static int setup(void **state)
{
	ring = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(wakeup_open(&wakeup), 0);
	return wakeup_add(&wakeup, ring);
}

static int teardown(void **state)
{
	wakeup_release(&wakeup);
	close(ring);
	return 0;
}

static void wake(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static uint64_t waited_ms(int timeout_ms)
{
	fake_clock_start(2);
	wakeup_wait(&wakeup, timeout_ms);
	fake_clock_stop();
	return fake_clock_passed() / 1000000;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(test_nothing)
{
	assert_int_equal(waited_ms(SHORT_MS), SHORT_MS);
	assert_int_equal(waited_ms(0), 0);
}

CASE(test_ring)
{
	wake(ring);
	assert_int_equal(waited_ms(LONG_MS), 0);
}

CASE(test_watched)
{
	int watched = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(wakeup_watch(&wakeup, watched), 0);
	wake(ring);
	assert_false(wakeup_is_asked(&wakeup));
	wake(watched);
	assert_true(wakeup_is_asked(&wakeup));
	assert_int_equal(waited_ms(LONG_MS), 0);
	wakeup_unwatch(&wakeup, watched);
	assert_false(wakeup_is_asked(&wakeup));
	close(watched);
}
