/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

#define KB 1024u

static void add(int folder, unsigned int number, size_t bytes, uint64_t bytes_max)
{
	struct timespec used[2] = {{.tv_sec = number + 1}, {.tv_sec = number + 1}};
	_cleanup_close_ int fd = -1;
	char name[32];

	snprintf(name, sizeof(name), "%u", number);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	for (; bytes >= KB; bytes -= KB)
		assert_int_equal(write(fd, (const char[KB]){1}, KB), KB);
	assert_int_equal(futimens(fd, used), 0);
	cache_folder_added(folder, 64 * KB, bytes_max);
}

static bool has(int folder, unsigned int number)
{
	char name[32];

	snprintf(name, sizeof(name), "%u", number);
	return faccessat(folder, name, F_OK, 0) == 0;
}

static unsigned int count(const struct scratch *s)
{
	DIR *dir = opendir(s->dir);
	unsigned int files = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		files += entry->d_name[0] != '.';
	closedir(dir);
	return files;
}

TEST(the_oldest_files_go_once_a_quarter_has_been_added)
{
	struct scratch s;
	int folder;

	scratch_init(&s);
	folder = cache_folder_open(s.dir, false);
	assert_true(folder >= 0);
	/* Files of 64 KB; four of them are a quarter. */
	for (unsigned int i = 0; i < 19; i++)
		add(folder, i, 64 * KB, 1024 * KB);
	assert_true(has(folder, 0));
	add(folder, 19, 64 * KB, 1024 * KB);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(has(folder, i), i >= 4);
	assert_int_equal(count(&s), 16);
	close(folder);
	scratch_release(&s);
}

TEST(small_files_count_more_than_their_size)
{
	struct scratch s;
	int folder;

	scratch_init(&s);
	folder = cache_folder_open(s.dir, false);
	assert_true(folder >= 0);
	for (unsigned int i = 0; i < 96; i++)
		add(folder, i, KB, 1024 * KB);
	assert_int_equal(count(&s), 64);
	assert_true(has(folder, 95));
	assert_false(has(folder, 31));
	close(folder);
	scratch_release(&s);
}
