/* SPDX-License-Identifier: MIT */
/* Reads of memory that a stranger may make slow. */

#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/live/process/late_reader.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ull
#define MS 1000000

enum way {
	AT_ONCE,
	SLEEP, /* 20 ms */
	SPIN, /* 60 ms: the worker is busy or waits for a CPU */
	BLOCK, /* until gate[1] is closed */
};

static enum way way;
static int gate[2];
static unsigned int calls;
static size_t readable_max = SIZE_MAX; /* bytes of a read */

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *own, unsigned long own_count,
				const struct iovec *other, unsigned long other_count,
				unsigned long flags);

/* In the worker. The linker diverts the call to it. */
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *own, unsigned long own_count,
				const struct iovec *other, unsigned long other_count,
				unsigned long flags)
{
	const struct timespec pause = {.tv_nsec = 20 * MS};
	uint64_t end = clock_monotonic_ns() + 60 * MS;
	size_t size = own->iov_len < readable_max ? own->iov_len : readable_max;
	char byte;

	calls++;
	if (way == SLEEP)
		nanosleep(&pause, NULL);
	while (way == SPIN && clock_monotonic_ns() < end)
		;
	if (way == BLOCK && read(gate[0], &byte, 1) != 0)
		return -1;
	memcpy(own->iov_base, other->iov_base, size);
	return (ssize_t)size;
}

#define PAGE 4096

static _Alignas(PAGE) char memory[64][PAGE] = {"text"};
static unsigned int next_page;

/* Reads a page that was not read before. */
static bool reads(struct late_reader *r)
{
	char *page = memory[next_page++ % 64];
	char to[5] = "";

	memcpy(page, memory[0], sizeof(to));
	return late_reader_read(r, (uintptr_t)page, to, sizeof(to)) &&
	       memcmp(to, memory[0], sizeof(to)) == 0;
}

TEST(pages_that_do_not_come_are_given_up)
{
	const struct timespec pause = {.tv_nsec = MS};
	struct late_reader r = {0};

	late_reader_begin(&r, 1, SECOND);
	way = AT_ONCE;
	assert_true(reads(&r));
	assert_int_equal(pipe(gate), 0);
	way = BLOCK;
	assert_false(reads(&r));
	way = AT_ONCE;
	assert_false(reads(&r));
	assert_int_equal(r.refused, 2);
	/* The page comes at last. */
	close(gate[1]);
	while (!reads(&r))
		nanosleep(&pause, NULL);
	late_reader_release(&r);
	close(gate[0]);
}

TEST(pages_that_come_late_use_up_the_time)
{
	struct late_reader r = {0};
	unsigned int count = 0;

	late_reader_begin(&r, 1, SECOND);
	way = SLEEP;
	while (reads(&r))
		count++;
	/* 200 ms, in which the kernel may count some of each pause as work. */
	assert_true(count <= 15);
	assert_false(reads(&r));
	assert_true(r.refused >= 2);
	late_reader_begin(&r, 1, SECOND + 1);
	assert_false(reads(&r));
	late_reader_begin(&r, 1, 2 * SECOND);
	way = AT_ONCE;
	assert_true(reads(&r));
	late_reader_release(&r);
}

TEST(a_busy_machine_is_waited_for)
{
	struct late_reader r = {0};

	late_reader_begin(&r, 1, SECOND);
	way = SPIN;
	for (int i = 0; i < 5; i++)
		assert_true(reads(&r));
	assert_int_equal(r.refused, 0);
	late_reader_release(&r);
}

TEST(what_is_new_enough_is_not_read_again)
{
	struct late_reader r = {0};
	char to[2 * PAGE];

	way = AT_ONCE;
	late_reader_begin(&r, 1, SECOND);
	calls = 0;
	for (int i = 0; i < 5; i++)
		assert_true(late_reader_read(&r, (uintptr_t)memory[1] + 100, to, sizeof(to)));
	assert_int_equal(calls, 1);
	/* Reads of another process, and what came after. */
	late_reader_begin(&r, 2, SECOND);
	assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	late_reader_begin(&r, 2, clock_monotonic_ns() + SECOND);
	assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	assert_int_equal(calls, 3);
	late_reader_release(&r);
}

TEST(pages_of_a_long_read_are_read_at_once)
{
	static _Alignas(PAGE) char row[20][PAGE];
	struct late_reader r = {0};
	char to[19 * PAGE];

	for (size_t i = 0; i < 20; i++)
		row[i][0] = (char)('a' + i);
	way = AT_ONCE;
	calls = 0;
	late_reader_begin(&r, 1, SECOND);
	assert_true(late_reader_read(&r, (uintptr_t)row, to, sizeof(to)));
	/* Sixteen pages at most, fewer at the end of the cache. */
	assert_in_range(calls, 2, 3);
	for (size_t i = 0; i < 19; i++)
		assert_int_equal(to[i * PAGE], 'a' + i);
	calls = 0;
	assert_true(late_reader_read(&r, (uintptr_t)row[3], to, 2 * PAGE));
	assert_int_equal(calls, 0);
	/* An unreadable page ends the read, but not the one before it. */
	readable_max = PAGE;
	late_reader_begin(&r, 1, clock_monotonic_ns() + SECOND);
	assert_true(late_reader_read(&r, (uintptr_t)row[1], to, 3 * PAGE));
	assert_int_equal(calls, 3);
	assert_int_equal(to[2 * PAGE], 'd');
	readable_max = SIZE_MAX;
	late_reader_release(&r);
}

TEST(what_lasts_is_not_read_again)
{
	const uint64_t start = (uintptr_t)memory[1], end = (uintptr_t)memory[2];
	uint64_t later = clock_monotonic_ns() + SECOND;
	struct late_reader r = {0};
	char to[PAGE];

	way = AT_ONCE;
	calls = 0;
	late_reader_keep(&r, 1, start, end);
	for (uint64_t i = 0; i < 3; i++) {
		late_reader_begin(&r, 1, later + i);
		assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	}
	assert_int_equal(calls, 1);
	/* Reads of what is behind it, and of another process. */
	assert_true(late_reader_read(&r, (uintptr_t)memory[2], to, 1));
	late_reader_begin(&r, 2, later);
	assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	assert_int_equal(calls, 3);
	/* Memory that is told of anew was not there before. */
	late_reader_begin(&r, 1, later);
	assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	late_reader_keep(&r, 1, start, end);
	late_reader_begin(&r, 1, later);
	assert_true(late_reader_read(&r, (uintptr_t)memory[1], to, 1));
	assert_int_equal(calls, 5);
	late_reader_release(&r);
}

TEST(bytes_of_a_second_are_limited)
{
	static char large[1 << 20], copy[sizeof(large)];
	struct late_reader r = {0};

	late_reader_begin(&r, 1, SECOND);
	way = AT_ONCE;
	for (int i = 0; i < 64; i++)
		assert_true(late_reader_read(&r, (uintptr_t)large, copy, sizeof(copy)));
	assert_false(late_reader_read(&r, (uintptr_t)large, copy, sizeof(copy)));
	late_reader_release(&r);
}
