/* SPDX-License-Identifier: MIT */
#include "tests/unit/perf_fixture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define FOLDER "tests/fuzz/corpus/perf_data/"
#define EVENTS 63

static const struct perf_source_options options = {.max_event = EVENTS};

char *perf_fixture_load(const char *name, size_t *size)
{
	_cleanup_free_ char *path = xasprintf(FOLDER "%s", name);
	char *bytes = text_read_file(path, 1u << 20, size);

	assert_non_null(bytes);
	return bytes;
}

int perf_fixture_open(const void *bytes, size_t size)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

int perf_fixture_read_bytes(struct perf_fixture *r, const void *bytes, size_t size,
			    struct error *err)
{
	_cleanup_close_ int fd = perf_fixture_open(bytes, size);
	const struct rec *rec;
	int ret;

	*r = (struct perf_fixture){0};
	assert_true(size < 8 || perf_file_is_one(fd));
	ret = perf_source_open(&r->source, fd, &options, err);
	if (ret)
		return ret;
	while (source_next(perf_source_records(r->source), &rec, NULL) == SOURCE_RECORD) {
		size_t at = r->words.count;

		assert_true(record_is_valid(rec, record_size(rec)));
		vec_add_zeroed(&r->words, rec->words);
		memcpy(r->words.items + at, rec, record_size(rec));
	}
	return 0;
}

void perf_fixture_read(struct perf_fixture *r, const char *name)
{
	size_t size;
	_cleanup_free_ char *bytes = perf_fixture_load(name, &size);

	assert_int_equal(perf_fixture_read_bytes(r, bytes, size, NULL), 0);
}

void perf_fixture_release(struct perf_fixture *r)
{
	vec_release(&r->words);
	perf_source_free(r->source);
}

const void *perf_fixture_find(const struct perf_fixture *r, unsigned int kind, unsigned int number)
{
	for (size_t at = 0; at < r->words.count;) {
		const struct rec *rec = (const struct rec *)(r->words.items + at);

		if (rec->kind == kind && !number--)
			return rec;
		at += rec->words;
	}
	return NULL;
}

void perf_fixture_set_word(char *bytes, size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}
