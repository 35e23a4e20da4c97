/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/code/files/file_set.h"
#include "tests/unit/test.h"

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

TEST(test_raises_the_limit)
{
	struct rlimit limit = {.rlim_cur = 50, .rlim_max = HARD_LIMIT};
	struct file_set *files;

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	files = file_set_new(10);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, HARD_LIMIT);
	file_set_free(files);
	file_set_free(NULL);
}

TEST(test_finds_and_replaces)
{
	struct file_set *files = file_set_new(10);
	int first = open_null(), second = open_null(), third = open_null();

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
	/* Without a descriptor, too, the earlier one is closed. */
	file_set_add(files, 7, -1);
	assert_int_equal(file_set_find(files, 7), -1);
	assert_false(is_open(third));
	file_set_free(files);
	assert_false(is_open(second));
}

TEST(test_closes_the_oldest)
{
	struct file_set *files = file_set_new(HARD_LIMIT - 4);
	int fds[1000];

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
	/* A file in the middle goes, which makes room for one. */
	file_set_add(files, 3, -1);
	file_set_add(files, 5, fds[5] = open_null());
	assert_int_equal(file_set_dropped(files), 1);
	assert_int_equal(file_set_find(files, 2), fds[2]);
	/* The youngest file goes and comes back. */
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

/* A process with many files loses its own, not those of others, whatever the order. */
TEST(who_has_most_loses_first)
{
	struct file_set *files = file_set_new(HARD_LIMIT - 8);
	int shared = open_null(), other = open_null(), ours = open_null();

	file_set_add(files, 0, ours);
	file_set_add_for(files, 1, 10, shared);
	file_set_add_for(files, 2, 11, other);
	file_set_use(files, 1, 12);
	for (uint32_t id = 100; id < 1000; id++)
		file_set_add_for(files, id, 20, open_null());
	assert_int_equal(file_set_find(files, 0), ours);
	assert_int_equal(file_set_find(files, 1), shared);
	assert_int_equal(file_set_find(files, 2), other);
	assert_true(file_set_find(files, 999) >= 0);
	assert_true(file_set_find(files, 995) >= 0);
	assert_int_equal(file_set_find(files, 994), -1);
	/* The process with most files loses one, though another asks for room. */
	file_set_add_for(files, 3, 13, open_null());
	assert_true(file_set_find(files, 3) >= 0);
	assert_int_equal(file_set_find(files, 995), -1);
	/* The row of a process without files is used again. */
	file_set_add(files, 2, -1);
	file_set_add_for(files, 4, 14, open_null());
	assert_true(file_set_find(files, 4) >= 0);
	/* A process does not share a file with itself. */
	file_set_use(files, 999, 20);
	for (uint32_t id = 1000; id < 1010; id++)
		file_set_add_for(files, id, 21, open_null());
	assert_int_equal(file_set_find(files, 1), shared);
	assert_int_equal(file_set_find(files, 996), -1);
	file_set_free(files);
	assert_false(is_open(shared));
	assert_false(is_open(other));
	assert_false(is_open(ours));
}

TEST(of_shared_ones_the_unused_goes_first)
{
	struct file_set *files = file_set_new(HARD_LIMIT - 4);

	for (uint32_t id = 0; id < 4; id++) {
		file_set_add_for(files, id, 10, open_null());
		file_set_use(files, id, 11);
	}
	file_set_use(files, 0, 10);
	file_set_add_for(files, 4, 12, open_null());
	assert_int_equal(file_set_find(files, 1), -1);
	assert_true(file_set_find(files, 0) >= 0);
	assert_true(file_set_find(files, 2) >= 0);
	file_set_free(files);
}

struct named_file {
	char path[64];
	struct stat st;
};

static int make_named(struct named_file *f)
{
	int fd;

	strcpy(f->path, "/tmp/prof-file-set-XXXXXX");
	fd = mkostemp(f->path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &f->st), 0);
	return fd;
}

static bool is_file(int fd, const struct named_file *f)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == f->st.st_ino && st.st_dev == f->st.st_dev;
}

TEST(what_is_needed_is_opened_again)
{
	struct file_set *files = file_set_new(HARD_LIMIT - 4);
	struct named_file same, replaced, linked, unneeded;
	const uint32_t needed[] = {1, 2, 3, 900};
	int fd;

	file_set_need(files, NULL, 0);
	file_set_add_for(files, 1, 10, make_named(&same));
	file_set_add_for(files, 2, 10, make_named(&replaced));
	file_set_add_for(files, 3, 10, make_named(&linked));
	file_set_add_for(files, 4, 10, make_named(&unneeded));
	for (uint32_t id = 897; id < 901; id++)
		file_set_add_for(files, id, 10, open_null());
	assert_int_equal(file_set_find(files, 1), -1);
	assert_int_equal(file_set_find(files, 4), -1);
	/* Another file has its name now; a link leads to the right one. */
	unlink(replaced.path);
	fd = open(replaced.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "other", 5), 5);
	close(fd);
	assert_int_equal(rename(linked.path, "/tmp/prof-file-set-target"), 0);
	assert_int_equal(symlink("/tmp/prof-file-set-target", linked.path), 0);
	file_set_need(files, needed, 4);
	assert_true(is_file(file_set_find(files, 1), &same));
	assert_int_equal(file_set_find(files, 2), -1);
	assert_int_equal(file_set_find(files, 3), -1);
	assert_int_equal(file_set_find(files, 4), -1);
	assert_true(file_set_find(files, 900) >= 0);
	assert_int_equal(file_set_find(files, 899), -1);
	assert_int_equal(file_set_dropped(files), 4);
	file_set_free(files);
	unlink(same.path);
	unlink(replaced.path);
	unlink(linked.path);
	unlink(unneeded.path);
	unlink("/tmp/prof-file-set-target");
}

TEST(the_limit_wanted_is_above_ours)
{
	assert_int_equal(file_set_limit_wanted(0), 4096);
	assert_int_equal(file_set_limit_wanted(4096 - HARD_LIMIT - 1), 4096);
	assert_int_equal(file_set_limit_wanted(4096 - HARD_LIMIT), 8192);
	assert_int_equal(file_set_limit_wanted(26000), 32768);
	assert_int_equal(file_set_limit_wanted(UINT32_MAX), FILE_LIMIT_MAX);
}

TEST(test_no_room_at_all)
{
	struct file_set *files = file_set_new(HARD_LIMIT + 5);
	int fd = open_null();

	file_set_add(files, 1, fd);
	assert_false(is_open(fd));
	assert_int_equal(file_set_find(files, 1), -1);
	assert_int_equal(file_set_dropped(files), 1);
	file_set_free(files);
}

TEST(roots_are_kept_once)
{
	struct file_set *files = file_set_new(16);
	int first = open("/proc", O_PATH | O_CLOEXEC), again = open("/proc", O_PATH | O_CLOEXEC);
	int other = open("/sys", O_PATH | O_CLOEXEC);

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

TEST(roots_of_processes)
{
	struct file_set *files = file_set_new(16);
	int first = open("/proc", O_PATH | O_CLOEXEC), again = open("/proc", O_PATH | O_CLOEXEC);
	int other = open("/sys", O_PATH | O_CLOEXEC);

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
