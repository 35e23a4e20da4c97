/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/file_set.h"

#define HARD_LIMIT 200u

static int open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_raises_the_limit(void **state)
{
	struct rlimit limit = {.rlim_cur = 50, .rlim_max = HARD_LIMIT};
	struct file_set *files;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	files = file_set_new(10);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, HARD_LIMIT);
	file_set_free(files);
	file_set_free(NULL);
}

static void test_finds_and_replaces(void **state)
{
	struct file_set *files = file_set_new(10);
	int first = open_null(), second = open_null(), third = open_null();

	(void)state;
	assert_int_equal(file_set_find(files, 7), -1);
	file_set_add(files, 7, first);
	file_set_add(files, UINT32_MAX, second);
	assert_int_equal(file_set_find(files, 7), first);
	assert_int_equal(file_set_find(files, UINT32_MAX), second);
	assert_int_equal(file_set_find(files, 0), -1);
	file_set_add(files, 7, third);
	assert_int_equal(file_set_find(files, 7), third);
	assert_false(is_open(first));
	assert_int_equal(file_set_dropped(files), 0);
	/* No descriptor: the earlier one is closed all the same. */
	file_set_add(files, 7, -1);
	assert_int_equal(file_set_find(files, 7), -1);
	assert_false(is_open(third));
	file_set_free(files);
	assert_false(is_open(second));
}

static void test_closes_the_oldest(void **state)
{
	struct file_set *files = file_set_new(HARD_LIMIT - 4);
	int fds[1000];

	(void)state;
	for (uint32_t id = 0; id < 4; id++)
		file_set_add(files, id, fds[id] = open_null());
	assert_int_equal(file_set_dropped(files), 0);
	/* Added again, 0 is the youngest. */
	file_set_add(files, 0, fds[0] = open_null());
	assert_int_equal(file_set_dropped(files), 0);
	file_set_add(files, 4, fds[4] = open_null());
	assert_int_equal(file_set_dropped(files), 1);
	assert_int_equal(file_set_find(files, 1), -1);
	assert_int_equal(file_set_find(files, 0), fds[0]);
	/* One in the middle goes, then there is room for one. */
	file_set_add(files, 3, -1);
	file_set_add(files, 5, fds[5] = open_null());
	assert_int_equal(file_set_dropped(files), 1);
	assert_int_equal(file_set_find(files, 2), fds[2]);
	/* The youngest goes and comes again. */
	file_set_add(files, 5, -1);
	file_set_add(files, 5, fds[5] = open_null());
	assert_int_equal(file_set_dropped(files), 1);
	for (uint32_t id = 6; id < 1000; id++) {
		file_set_add(files, id, fds[id] = open_null());
		assert_int_equal(file_set_find(files, id), fds[id]);
		if (id < 10)
			continue;
		assert_int_equal(file_set_find(files, id - 3), fds[id - 3]);
		assert_int_equal(file_set_find(files, id - 4), -1);
	}
	assert_int_equal(file_set_dropped(files), 1 + 994);
	file_set_free(files);
	assert_false(is_open(fds[999]));
	assert_false(is_open(fds[996]));
}

static void test_no_room_at_all(void **state)
{
	struct file_set *files = file_set_new(HARD_LIMIT + 5);
	int fd = open_null();

	(void)state;
	file_set_add(files, 1, fd);
	assert_false(is_open(fd));
	assert_int_equal(file_set_find(files, 1), -1);
	assert_int_equal(file_set_dropped(files), 1);
	file_set_free(files);
}

static void roots_are_kept_once(void **state)
{
	struct file_set *files = file_set_new(16);
	int first = open("/proc", O_PATH | O_CLOEXEC), again = open("/proc", O_PATH | O_CLOEXEC);
	int other = open("/sys", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(file_set_find_root(files, 0), 0);
	file_set_add_root(files, 3, first);
	file_set_add_root(files, 1, again);
	file_set_add_root(files, 7, other);
	assert_int_equal(file_set_find_root(files, 3), first);
	assert_int_equal(file_set_find_root(files, 1), first);
	assert_int_equal(file_set_find_root(files, 7), other);
	assert_int_equal(file_set_find_root(files, 0), 0);
	assert_int_equal(file_set_find_root(files, UINT32_MAX), 0);
	assert_int_equal(fcntl(again, F_GETFD), -1);
	file_set_free(files);
	assert_int_equal(fcntl(first, F_GETFD), -1);
	assert_int_equal(fcntl(other, F_GETFD), -1);
}

static void roots_of_processes(void **state)
{
	struct file_set *files = file_set_new(16);
	int first = open("/proc", O_PATH | O_CLOEXEC), again = open("/proc", O_PATH | O_CLOEXEC);
	int other = open("/sys", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(file_set_find_process_root(files, 0), 0);
	file_set_add_process_root(files, 30, first);
	file_set_add_root(files, 30, other);
	file_set_add_process_root(files, 4000000, again);
	assert_int_equal(file_set_find_process_root(files, 30), first);
	assert_int_equal(file_set_find_process_root(files, 4000000), first);
	assert_int_equal(file_set_find_process_root(files, 31), 0);
	/* The number is used again. */
	file_set_add_process_root(files, 30, open("/sys", O_PATH | O_CLOEXEC));
	assert_int_equal(file_set_find_process_root(files, 30), other);
	file_set_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raises_the_limit),  cmocka_unit_test(test_finds_and_replaces),
		cmocka_unit_test(test_closes_the_oldest), cmocka_unit_test(test_no_room_at_all),
		cmocka_unit_test(roots_are_kept_once),	  cmocka_unit_test(roots_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
