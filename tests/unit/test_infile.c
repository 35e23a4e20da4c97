/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/base/cleanup.h"
#include "lib/base/infile.h"
#include "lib/base/outfile.h"
#include "tests/unit/test.h"

/* Several of the reader's chunks, which compress to more than one. */
#define LARGE 3000000

static char *large_text(void)
{
	char *text = malloc(LARGE + 1);
	uint32_t value = 1;

	for (size_t i = 0; i < LARGE; i++) {
		value = value * 1664525 + 1013904223;
		text[i] = (char)('a' + (value >> 24) % 26);
	}
	text[LARGE] = '\0';
	return text;
}

static int packed(const char *text, size_t size, bool gzip)
{
	int fd = memfd_create("infile", MFD_CLOEXEC);
	struct outfile_options options = {.fd = dup(fd), .gzip = gzip};
	struct outfile *out;

	assert_int_equal(outfile_open(&out, &options, NULL), 0);
	outfile_write(out, text, size);
	assert_int_equal(outfile_commit(out, NULL), 0);
	outfile_free(out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int packed_zstd(const char *text, size_t size)
{
	size_t bound = ZSTD_compressBound(size);
	_cleanup_free_ char *bytes = xmalloc(bound);
	int fd = memfd_create("infile", MFD_CLOEXEC);

	bound = ZSTD_compress(bytes, bound, text, size, 1);
	assert_int_equal(write(fd, bytes, bound), bound);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void expect(int fd, size_t max, const char *wanted, size_t wanted_size)
{
	struct error err = {0};
	char *text = NULL;
	size_t size = 0;

	if (infile_read(fd, "file", max, &text, &size, &err))
		fail_msg("%s", err.text);
	assert_int_equal(size, wanted_size);
	assert_memory_equal(text, wanted, size + 1);
	free(text);
	close(fd);
}

static void expect_failure(int fd, size_t max, int code, const char *message)
{
	struct error err = {0};
	char *text;
	size_t size;

	assert_int_equal(infile_read(fd, "file", max, &text, &size, &err), code);
	assert_non_null(strstr(err.text, message));
	close(fd);
}

TEST(what_was_written_is_read)
{
	_cleanup_free_ char *text = large_text();

	for (int gzip = 0; gzip < 2; gzip++) {
		expect(packed("", 0, gzip), 10, "", 0);
		expect(packed("x", 1, gzip), 1, "x", 1);
		expect(packed(text, LARGE, gzip), LARGE, text, LARGE);
	}
}

TEST(limits_hold)
{
	_cleanup_free_ char *text = large_text();

	for (int gzip = 0; gzip < 2; gzip++) {
		expect_failure(packed("xy", 2, gzip), 1, -EFBIG, "more than");
		expect_failure(packed(text, LARGE, gzip), LARGE - 1, -EFBIG, "more than 2 MB");
	}
}

TEST(damage_is_reported)
{
	int fd = packed("some text", 9, true);
	off_t size = lseek(fd, 0, SEEK_END);

	assert_int_equal(ftruncate(fd, size - 1), 0);
	lseek(fd, 0, SEEK_SET);
	expect_failure(fd, 100, -EBADMSG, "truncated");
	fd = packed("some text", 9, true);
	assert_int_equal(pwrite(fd, "\xff\xff", 2, 12), 2);
	expect_failure(fd, 100, -EBADMSG, "damaged");
	fd = packed("some text", 9, true);
	assert_int_equal(pwrite(fd, "x", 1, size), 1);
	expect_failure(fd, 100, -EBADMSG, "file: the gzip data is");
	expect_failure(open("/", O_RDONLY | O_CLOEXEC), 100, -EISDIR, "read file");
}

TEST(zstd_is_read)
{
	_cleanup_free_ char *text = large_text();
	int fd = packed_zstd("one", 3), second = packed_zstd("two", 3);
	char bytes[200];
	ssize_t size = pread(second, bytes, sizeof(bytes), 0);

	expect(packed_zstd("", 0), 10, "", 0);
	expect(packed_zstd(text, LARGE), LARGE, text, LARGE);
	expect_failure(packed_zstd(text, LARGE), LARGE - 1, -EFBIG, "more than 2 MB");
	lseek(fd, 0, SEEK_END);
	assert_int_equal(write(fd, bytes, (size_t)size), size);
	lseek(fd, 0, SEEK_SET);
	expect(fd, 6, "onetwo", 6);
	assert_int_equal(ftruncate(second, size - 1), 0);
	lseek(second, 0, SEEK_SET);
	expect_failure(second, 100, -EBADMSG, "the zstd data is truncated");
	fd = packed_zstd("some text", 9);
	assert_int_equal(pwrite(fd, "\xff\xff", 2, 4), 2);
	expect_failure(fd, 100, -EBADMSG, "the zstd data is damaged");
}

/* Packed and plain. A text that was passed can be read again. */
TEST(large_texts_are_mapped)
{
	const size_t count = 24, size = count * LARGE;
	_cleanup_free_ char *text = large_text(), *all = xmalloc(size);

	for (size_t i = 0; i < count; i++)
		memcpy(all + i * LARGE, text, LARGE);
	for (int gzip = 0; gzip < 2; gzip++) {
		int fd = packed(all, size, gzip);
		struct error err = {0};
		char *read = NULL;
		size_t got = 0;

		if (infile_map(fd, "file", size, &read, &got, &err))
			fail_msg("%s", err.text);
		assert_int_equal(got, size);
		for (size_t at = 0; at < size; at += LARGE)
			infile_pass(read + at);
		infile_pass(read + size);
		assert_memory_equal(read, all, size);
		assert_int_equal(read[size], 0);
		infile_release(read);
		lseek(fd, 0, SEEK_SET);
		assert_int_equal(infile_map(fd, "file", size - 1, &read, &got, &err), -EFBIG);
		close(fd);
	}
}

TEST(members_add_up)
{
	int fd = packed("one", 3, true), second = packed("two", 3, true);
	char bytes[200];
	ssize_t size = pread(second, bytes, sizeof(bytes), 0);

	lseek(fd, 0, SEEK_END);
	assert_int_equal(write(fd, bytes, (size_t)size), size);
	lseek(fd, 0, SEEK_SET);
	expect(fd, 6, "onetwo", 6);
	close(second);
}
