/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/module_files.h"
#include "tests/unit/test.h"

#define SEED "tests/fuzz/corpus/binary/plain"

static char folder[] = "/tmp/test_module_file.XXXXXX";
static uint8_t build_id[BUILD_ID_MAX];
static size_t build_id_size;
static uint64_t contents;

static int setup(void **state)
{
	struct binary_summary summary;
	int fd = open(SEED, O_RDONLY | O_CLOEXEC);

	assert_non_null(mkdtemp(folder));
	assert_int_equal(binary_summarize(fd, &summary, NULL), 0);
	build_id_size = summary.build_id_size;
	memcpy(build_id, summary.build_id, sizeof(build_id));
	binary_summary_release(&summary);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	_cleanup_free_ char *command = xasprintf("rm -rf '%s'", folder);

	return system(command);
}

/* Copies the file to that place of the folder; free the result. */
static char *put(const char *place)
{
	_cleanup_free_ char *command = xasprintf("install -D -m 600 " SEED " '%s/%s'", folder,
						 place);

	assert_int_equal(system(command), 0);
	return xasprintf("%s/%s", folder, place);
}

static void expect_result(const char *path, const char *dir, int wanted)
{
	const char *const dirs[] = {dir, NULL};
	struct module_search search = {
		.build_id = build_id,
		.build_id_size = build_id_size,
		.contents = contents,
		.paths = {"relative/never", path},
		.dirs = dir ? dirs : NULL,
	};
	int fd = module_file_open(&search);

	assert_int_equal(fd < 0 ? fd : 0, wanted);
	if (fd >= 0)
		close(fd);
}

TEST(files_are_found_where_they_may_be)
{
	_cleanup_free_ char *path = put("at/its/path");
	char id[2 * BUILD_ID_MAX + 1];
	_cleanup_free_ char *place = NULL, *by_id = NULL, *dir = NULL;

	free(put("root/usr/bin/plain"));
	free(put("flat/plain"));
	build_id_to_text(build_id, build_id_size, id);
	place = xasprintf("ids/.build-id/%.2s/%s", id, id + 2);
	by_id = put(place);
	expect_result(path, NULL, 0);
	expect_result("/usr/bin/plain", NULL, -ENOENT);
	dir = xasprintf("%s/root", folder);
	expect_result("/usr/bin/plain", dir, 0);
	memcpy(strrchr(dir, '/'), "/flat", 5);
	expect_result("/usr/bin/plain", dir, 0);
	expect_result("/usr/bin/other", dir, -ENOENT);
	memcpy(strrchr(dir, '/'), "/ids\0", 5);
	expect_result("/usr/bin/other", dir, 0);
	expect_result(NULL, dir, 0);
}

TEST(others_are_refused)
{
	_cleanup_free_ char *path = put("refused/plain");
	_cleanup_free_ char *fifo = xasprintf("%s/refused/fifo", folder);

	build_id[0] ^= 1;
	expect_result(path, NULL, -ESTALE);
	build_id[0] ^= 1;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect_result(fifo, NULL, -ENOENT);
	expect_result("/dev/zero", NULL, -ENOENT);
	expect_result("/etc/passwd", NULL, -ENOENT);
	build_id_size = 0;
	expect_result(path, NULL, -EINVAL);
	contents = 1;
	expect_result(path, NULL, -ESTALE);
}

/* A file of 50,000 bytes with one byte changed, or one more at its end. */
static uint64_t hash_changed(size_t at)
{
	_cleanup_free_ char *path = xasprintf("%s/changed", folder);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static const uint8_t bytes[50000];

	assert_int_equal(write(fd, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
	assert_int_equal(pwrite(fd, at ? "x" : "", 1, (off_t)at), 1);
	return binary_contents_hash(fd);
}

TEST(contents_stand_for_a_build_id)
{
	_cleanup_free_ char *path = xasprintf("%s/without", folder);
	_cleanup_free_ char *command =
		xasprintf("objcopy -R .note.gnu.build-id " SEED " '%s' 2>/dev/null", path);
	_cleanup_close_ int with = open(SEED, O_RDONLY | O_CLOEXEC), fd = -1;

	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	build_id_size = 0;
	contents = binary_contents_hash(fd);
	assert_int_not_equal(contents, 0);
	expect_result(path, NULL, 0);
	/* It has a build id, which the module had not. */
	contents = binary_contents_hash(with);
	expect_result(SEED, NULL, -ENOENT);
	_cleanup_free_ char *here = realpath(SEED, NULL);
	expect_result(here, NULL, -ESTALE);
	for (size_t at = 1; at < 4096; at += 500)
		assert_int_not_equal(hash_changed(0), hash_changed(at));
	for (size_t at = 50000; at > 50000 - 4096; at -= 500)
		assert_int_not_equal(hash_changed(0), hash_changed(at));
	assert_int_equal(hash_changed(0), hash_changed(0));
	assert_int_equal(binary_contents_hash(-1), 0);
}

TEST_GROUP(setup, teardown);
