/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/json/writer.h"
#include "tests/unit/test.h"

struct fixture {
	struct jsonw w;
	struct outfile *out;
	int fd; /* of the file, to read it back */
	char *text;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct outfile_options options = {.path = "memory", .owner = {.is_self = true}};
	struct error err = {0};

	f->fd = memfd_create("jsonw", MFD_CLOEXEC);
	options.fd = dup(f->fd);
	if (f->fd < 0 || outfile_open(&f->out, &options, &err) < 0)
		return -1;
	jsonw_init(&f->w, f->out);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->w.buffer)
		jsonw_release(&f->w);
	outfile_free(f->out);
	close(f->fd);
	free(f->text);
	free(f);
	return 0;
}

/* Returns everything that was written. */
static const char *finish(struct fixture *f)
{
	struct error err = {0};
	off_t size;

	jsonw_release(&f->w);
	assert_int_equal(outfile_commit(f->out, &err), 0);
	size = lseek(f->fd, 0, SEEK_END);
	f->text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(f->fd, f->text, (size_t)size, 0), size);
	return f->text;
}

/* Cuts the next value off a comma-separated list. */
static const char *next_value(char **at)
{
	const char *value = strsep(at, ",");

	assert_non_null(value);
	return value;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33 ^ *state << 17;
}

/* Powers of ten and of two with their background_processes, then random values of every length. */
static size_t fill_values(uint64_t *values, size_t max)
{
	uint64_t seed = 42;
	size_t count = 0;

	values[count++] = 0;
	for (uint64_t ten = 1;; ten *= 10) {
		for (int i = -1; i <= 1; i++)
			values[count++] = ten + (uint64_t)i;
		if (ten == 10000000000000000000ull)
			break;
	}
	for (int bit = 0; bit < 64; bit++) {
		for (int i = -1; i <= 1; i++)
			values[count++] = (1ull << bit) + (uint64_t)i;
	}
	values[count++] = UINT64_MAX;
	while (count < max) {
		uint64_t value = next_random(&seed);

		values[count++] = value >> next_random(&seed) % 64;
	}
	return count;
}

#define VALUES 200000
static uint64_t values[VALUES];

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(test_u64)
{
	struct fixture *f = *state;
	size_t count = fill_values(values, VALUES);
	char *at, expected[32];

	for (size_t i = 0; i < count; i++)
		jsonw_u64(&f->w, values[i]);
	finish(f);
	at = f->text;
	for (size_t i = 0; i < count; i++) {
		snprintf(expected, sizeof(expected), "%" PRIu64, values[i]);
		assert_string_equal(next_value(&at), expected);
	}
	assert_null(at);
}

CASE(test_every_small_number)
{
	struct fixture *f = *state;
	char *at, expected[32];

	for (uint32_t i = 0; i < 120000; i++)
		jsonw_u64(&f->w, i);
	finish(f);
	at = f->text;
	for (uint32_t i = 0; i < 120000; i++) {
		snprintf(expected, sizeof(expected), "%u", i);
		assert_string_equal(next_value(&at), expected);
	}
	assert_null(at);
}

CASE(test_i64)
{
	struct fixture *f = *state;
	size_t count = fill_values(values, VALUES);
	char *at, expected[32];

	jsonw_i64(&f->w, INT64_MIN);
	for (size_t i = 0; i < count; i++)
		jsonw_i64(&f->w, (int64_t)(i % 2 ? values[i] : -values[i]));
	finish(f);
	at = f->text;
	assert_string_equal(next_value(&at), "-9223372036854775808");
	for (size_t i = 0; i < count; i++) {
		snprintf(expected, sizeof(expected), "%" PRId64,
			 (int64_t)(i % 2 ? values[i] : -values[i]));
		assert_string_equal(next_value(&at), expected);
	}
	assert_null(at);
}

static void format_ms(char *buf, size_t size, uint64_t ns)
{
	size_t end = (size_t)snprintf(buf, size, "%" PRIu64 ".%06" PRIu64, ns / 1000000,
				      ns % 1000000);

	while (buf[end - 1] == '0')
		buf[--end] = '\0';
	if (buf[end - 1] == '.')
		buf[--end] = '\0';
}

CASE(test_ms)
{
	struct fixture *f = *state;
	size_t count = fill_values(values, VALUES);
	char *at, expected[32];

	for (size_t i = 0; i < count; i++)
		jsonw_ms(&f->w, values[i]);
	finish(f);
	at = f->text;
	for (size_t i = 0; i < count; i++) {
		format_ms(expected, sizeof(expected), values[i]);
		assert_string_equal(next_value(&at), expected);
	}
	assert_null(at);
}

CASE(test_ms_examples)
{
	static const uint64_t ns[] = {0,       1,	10,	  100000,  999999,
				      1000000, 1000001, 12345678, 12500000};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++)
		jsonw_ms(&f->w, ns[i]);
	assert_string_equal(finish(f), "0,0.000001,0.00001,0.1,0.999999,1,1.000001,12.345678,12.5");
}

CASE(test_structure)
{
	struct fixture *f = *state;
	struct jsonw *w = &f->w;

	jsonw_object_begin(w);
	jsonw_key(w, "empty");
	jsonw_array_begin(w);
	jsonw_array_end(w);
	jsonw_key(w, "list");
	jsonw_array_begin(w);
	jsonw_null(w);
	jsonw_bool(w, true);
	jsonw_bool(w, false);
	jsonw_object_begin(w);
	jsonw_object_end(w);
	jsonw_array_begin(w);
	jsonw_i64(w, -1);
	jsonw_array_end(w);
	jsonw_u64(w, 7);
	jsonw_array_end(w);
	jsonw_key(w, "raw");
	jsonw_raw_value(w, "1e", 2);
	jsonw_raw(w, "3", 1);
	jsonw_key(w, "text");
	jsonw_cstring(w, "");
	jsonw_object_end(w);
	assert_string_equal(finish(f), "{\"empty\":[],\"list\":[null,true,false,{},[-1],7],"
				       "\"raw\":1e3,\"text\":\"\"}");
}

static void check_string(void **state, const char *text, size_t size, const char *expected)
{
	struct strbuf clean = {0};
	struct fixture *f;
	bool is_clean = jsonw_is_clean(text, size);

	/* One fixture per string; the test's own is unused. */
	assert_int_equal(setup((void **)&f), 0);
	jsonw_string(&f->w, text, size);
	assert_string_equal(finish(f), expected);
	teardown((void **)&f);

	/* jsonw_clean() changes nothing in what jsonw_string() writes. */
	jsonw_clean(&clean, text, size);
	assert_true(jsonw_is_clean(strbuf_text(&clean), clean.size));
	assert_int_equal(is_clean, clean.size == size && !memcmp(strbuf_text(&clean), text, size));
	assert_int_equal(setup((void **)&f), 0);
	jsonw_string(&f->w, strbuf_text(&clean), clean.size);
	assert_string_equal(finish(f), expected);
	teardown((void **)&f);
	strbuf_release(&clean);
}

#define CHECK_STRING(text, expected) check_string(state, text, sizeof(text) - 1, expected)
#define FFFD "\xef\xbf\xbd"

TEST(test_escapes)
{
	CHECK_STRING("", "\"\"");
	CHECK_STRING("plain text, long enough for two steps", "\"plain text, long enough for two "
							      "steps\"");
	CHECK_STRING("\"", "\"\\\"\"");
	CHECK_STRING("a\\b", "\"a\\\\b\"");
	CHECK_STRING("1234567\"", "\"1234567\\\"\"");
	CHECK_STRING("12345678\"", "\"12345678\\\"\"");
	CHECK_STRING("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
	CHECK_STRING("\x01\x1f\x0b", "\"\\u0001\\u001f\\u000b\"");
	CHECK_STRING("a\0b", "\"a\\u0000b\"");
	CHECK_STRING("\x7f/", "\"\x7f/\"");
	CHECK_STRING(" !#[]~", "\" !#[]~\"");
}

/* Eight bytes are looked at at once, then those that are left. */
TEST(test_escapes_anywhere)
{
	static const struct {
		char c;
		const char *escape;
	} cases[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\x1f', "\\u001f"}};
	char text[20], expected[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int at = 0; at < (int)sizeof(text); at++) {
			memset(text, 'a', sizeof(text));
			text[at] = cases[i].c;
			snprintf(expected, sizeof(expected), "\"%.*s%s%.*s\"", at,
				 "aaaaaaaaaaaaaaaaaaaa", cases[i].escape,
				 (int)sizeof(text) - at - 1, "aaaaaaaaaaaaaaaaaaaa");
			check_string(state, text, sizeof(text), expected);
		}
	}
}

TEST(test_utf8)
{
	CHECK_STRING("\xc2\xb5s", "\"\xc2\xb5s\"");
	CHECK_STRING("\xe2\x82\xac", "\"\xe2\x82\xac\"");
	CHECK_STRING("\xf0\x9f\x98\x80!", "\"\xf0\x9f\x98\x80!\"");
	CHECK_STRING("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");
	/*
	 * A stray continuation, a cut sequence, an overlong one, a surrogate, a code point beyond
	 * U+10FFFF.
	 */
	CHECK_STRING("a\x80z", "\"a" FFFD "z\"");
	CHECK_STRING("abcdefg\xe2\x82", "\"abcdefg" FFFD FFFD "\"");
	CHECK_STRING("\xc0\xaf", "\"" FFFD FFFD "\"");
	CHECK_STRING("\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"");
	CHECK_STRING("\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"");
	CHECK_STRING("\xff\xfe", "\"" FFFD FFFD "\"");
	CHECK_STRING("\xe2\"", "\"" FFFD "\\\"\"");
}

/* Columns of every length, over many flushes: each ends where the next begins. */
CASE(test_columns)
{
	size_t counts[400];
	struct fixture *f = *state;
	char *at, expected[64];

	jsonw_object_begin(&f->w);
	for (size_t i = 0; i < 400; i++) {
		char *to = jsonw_column_begin(&f->w, "c");

		counts[i] = i < 10 ? i : i * 37 % 2000;
		for (size_t k = 0; k < counts[i]; k++) {
			to = jsonw_column_room(&f->w, to);
			to = jsonw_column_next(jsonw_format_i64(to, (int64_t)(k * k) - 1));
		}
		jsonw_column_end(&f->w, to);
	}
	jsonw_object_end(&f->w);
	finish(f);
	at = f->text;
	assert_int_equal(*at++, '{');
	for (size_t i = 0; i < 400; i++) {
		assert_memory_equal(at, "\"c\":[", 5);
		at += 5;
		for (size_t k = 0; k < counts[i]; k++) {
			size_t size = (size_t)snprintf(expected, sizeof(expected), "%s%" PRId64,
						       k ? "," : "", (int64_t)(k * k) - 1);

			assert_memory_equal(at, expected, size);
			at += size;
		}
		assert_memory_equal(at, i < 399 ? "]," : "]}", 2);
		at += 2;
	}
	assert_int_equal(*at, '\0');
}

/* Around the end of the buffer every kind of value must come out whole. */
CASE(test_buffer_boundaries)
{
	struct fixture *f = *state;
	char *at;

	for (size_t i = 0; i < 40000; i++) {
		jsonw_u64(&f->w, UINT64_MAX);
		jsonw_string(&f->w, "0123456789abcdefghijklmnopqrstuvwxyz", i % 37);
		jsonw_ms(&f->w, 18446744073709551615ull);
		jsonw_bool(&f->w, false);
	}
	finish(f);
	at = f->text;
	for (size_t i = 0; i < 40000; i++) {
		char expected[64];

		assert_string_equal(next_value(&at), "18446744073709551615");
		snprintf(expected, sizeof(expected), "\"%.*s\"", (int)(i % 37),
			 "0123456789abcdefghijklmnopqrstuvwxyz");
		assert_string_equal(next_value(&at), expected);
		assert_string_equal(next_value(&at), "18446744073709.551615");
		assert_string_equal(next_value(&at), "false");
	}
	assert_null(at);
}

CASE(test_long_string)
{
	struct fixture *f = *state;
	size_t size = 300000;
	_cleanup_free_ char *text = malloc(size);

	memset(text, 'x', size);
	text[size / 2] = '\n';
	jsonw_string(&f->w, text, size);
	finish(f);
	assert_int_equal(strlen(f->text), size + 3);
	assert_memory_equal(f->text + 1, text, size / 2);
	assert_memory_equal(f->text + 1 + size / 2, "\\n", 2);
	assert_memory_equal(f->text + 3 + size / 2, text, size / 2 - 1);
}
