/* SPDX-License-Identifier: MIT */
#include "tests/unit/outfile_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

int enter_folder(void **state)
{
	char name[] = "/tmp/prof-outfile-XXXXXX";

	if (!mkdtemp(name) || chdir(name))
		return -1;
	*state = strdup(name);
	return 0;
}

int leave_folder(void **state)
{
	char command[PATH_MAX];
	int rc;

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	rc = chdir("/") || system(command);
	free(*state);
	return rc;
}

struct outfile *open_file(const char *path, bool gzip)
{
	struct outfile_options options = {
		.path = path, .fd = -1, .gzip = gzip, .owner = identity_of_invoker()};
	struct outfile *f = NULL;
	struct error err = {0};

	assert_int_equal(outfile_open(&f, &options, &err), 0);
	assert_string_equal(err.text, "");
	assert_non_null(f);
	return f;
}

void commit(struct outfile *f)
{
	struct error err = {0};

	assert_int_equal(outfile_commit(f, &err), 0);
	assert_string_equal(err.text, "");
	outfile_free(f);
}

void check_refused_as(struct identity owner, const char *path, int code, const char *text)
{
	struct outfile_options options = {.path = path, .fd = -1, .owner = owner};
	struct outfile *f = NULL;
	struct error err = {0};

	assert_int_equal(outfile_open(&f, &options, &err), code);
	assert_int_equal(err.code, code);
	assert_string_equal(err.text, text);
	assert_null(f);
}

void check_refused(const char *path, int code, const char *text)
{
	check_refused_as(identity_of_invoker(), path, code, text);
}

void check_content(const char *path, const void *data, size_t size)
{
	size_t got;
	char *text = text_read_file(path, SIZE_MAX, &got);

	assert_non_null(text);
	assert_int_equal(got, size);
	if (size)
		assert_memory_equal(text, data, size);
	free(text);
}

void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

int count_names(void)
{
	DIR *dir = opendir(".");
	int count = -2;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

bool has_unnamed_files(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

char *make_data(size_t size, bool is_random)
{
	char *data = xmalloc(size);

	for (size_t i = 0; i < size; i++)
		data[i] = is_random ? (char)hash_u64(i + 1) : (char)('0' + hash_u64(i / 3) % 10);
	return data;
}
