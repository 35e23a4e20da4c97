/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "tests/unit/test.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

TEST(test_starts_and_ends)
{
	assert_true(text_starts_with("kernel.x", "kernel"));
	assert_true(text_starts_with("x", ""));
	assert_false(text_starts_with("ker", "kernel"));
	assert_true(text_ends_with("a.json", ".json"));
	assert_true(text_ends_with(".json", ".json"));
	assert_true(text_ends_with("x", ""));
	assert_false(text_ends_with("json", ".json"));
	assert_false(text_ends_with("a.json.gz", ".json"));
}

TEST(test_to_u64)
{
	static const char *const wrong[] = {"",	   " 1",  "1 ",	 "+1",	"-1", "0x10",
					    "1.0", "1e3", "12a", "\n1", "１"};
	uint64_t value = 77;

	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(text_to_u64(wrong[i], 10, &value));
	assert_false(text_to_u64("18446744073709551616", 10, &value));
	assert_false(text_to_u64("99999999999999999999999", 10, &value));
	assert_false(text_to_u64("8", 8, &value));
	assert_int_equal(value, 77);
	assert_true(text_to_u64("18446744073709551615", 10, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_true(text_to_u64("0", 10, &value));
	assert_int_equal(value, 0);
	assert_true(text_to_u64("0000000000000000000000042", 10, &value));
	assert_int_equal(value, 42);
	assert_true(text_to_u64("ffFFffffffffffff", 16, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_true(text_to_u64("777", 8, &value));
	assert_int_equal(value, 0777);
}

static void check_doubles(void)
{
	static const char *const wrong[] = {
		"",   ".",   "-",  " 1",  "1 ", "0x1p3", "0x10",  "inf", "nan",	   "1,5",
		"1e", "1e+", "e5", "--1", "+1", "1.2.",	 "1e999", "1f",	 "-1e999", "infinity"};
	static const struct {
		const char *text;
		double value;
	} right[] = {{"2", 2},	       {"0.5", 0.5},  {".5", 0.5},	 {"5.", 5},
		     {"-3.25", -3.25}, {"1e3", 1000}, {"1.5E-1", 0.15},	 {"0", 0},
		     {"0.1", 0.1},     {"1e-400", 0}, {"00012.50", 12.5}};
	double value = 77;

	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(text_to_double(wrong[i], &value));
	assert_true(value == 77);
	for (size_t i = 0; i < COUNT(right); i++) {
		assert_true(text_to_double(right[i].text, &value));
		assert_true(value == right[i].value);
	}
}

TEST(test_to_double)
{
	check_doubles();
	/* A locale with a decimal comma, if the machine has one: the parser uses its own. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	check_doubles();
	setlocale(LC_ALL, "C");
}

TEST(test_to_size)
{
	static const char *const wrong[] = {"",	    "K",   "1KB",  "1T", "1 K",	  "-1",
					    "1.5M", "1KK", "0x1K", "k",	 "16384P"};
	uint64_t size = 77;

	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(text_to_size(wrong[i], &size));
	assert_false(text_to_size("17179869184G", &size));
	assert_int_equal(size, 77);
	assert_true(text_to_size("17179869183G", &size));
	assert_int_equal(size, 17179869183ull << 30);
	assert_true(text_to_size("4096", &size));
	assert_int_equal(size, 4096);
	assert_true(text_to_size("3K", &size));
	assert_int_equal(size, 3072);
	assert_true(text_to_size("512M", &size));
	assert_int_equal(size, 512u << 20);
	assert_true(text_to_size("0G", &size));
	assert_int_equal(size, 0);
}

TEST(test_scan)
{
	static const char line[] = "7f00aB-123x11223344556677889";
	const char *at = line, *end = line + sizeof(line) - 1;
	uint64_t value = 0;

	assert_true(text_scan_hex(&at, end, &value));
	assert_int_equal(value, 0x7f00ab);
	assert_ptr_equal(at, line + 6);
	/* A sign or anything else in front is refused, and nothing moves. */
	assert_false(text_scan_hex(&at, end, &value));
	assert_ptr_equal(at, line + 6);
	at++;
	assert_true(text_scan_decimal(&at, end, &value));
	assert_int_equal(value, 123);
	assert_int_equal(*at, 'x');
	at++;
	assert_false(text_scan_hex(&at, end, &value));
	assert_int_equal(*at, '1');
	/* Stops at the end, though digits follow. */
	assert_true(text_scan_hex(&at, at + 4, &value));
	assert_int_equal(value, 0x1122);
	assert_false(text_scan_hex(&at, at, &value));
}

static size_t encode(uint32_t code, char *text)
{
	if (code < 0x80) {
		text[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		text[0] = (char)(0xc0 | code >> 6);
		text[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		text[0] = (char)(0xe0 | code >> 12);
		text[1] = (char)(0x80 | (code >> 6 & 0x3f));
		text[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | code >> 18);
	text[1] = (char)(0x80 | (code >> 12 & 0x3f));
	text[2] = (char)(0x80 | (code >> 6 & 0x3f));
	text[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

TEST(test_utf8_of_every_code_point)
{
	char text[4];

	for (uint32_t code = 0; code < 0x1fffff; code++) {
		size_t length = encode(code, text);
		bool valid = code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);

		assert_int_equal(text_utf8_length(text, length), valid ? length : 0);
		/* Cut off. */
		assert_int_equal(text_utf8_length(text, length - 1), 0);
	}
}

/* Counts what passes: overlong forms and stray bytes would change the number of code points. */
TEST(test_utf8_of_every_three_bytes)
{
	uint32_t counts[4] = {0};
	char text[3];

	for (uint32_t bits = 0; bits < 1u << 24; bits++) {
		text[0] = (char)(bits >> 16);
		text[1] = (char)(bits >> 8);
		text[2] = (char)bits;
		counts[text_utf8_length(text, 3)]++;
	}
	assert_int_equal(counts[1], 0x80 * 65536);
	assert_int_equal(counts[2], (0x800 - 0x80) * 256);
	assert_int_equal(counts[3], 0x10000 - 0x800 - 0x800);
}

TEST(test_utf8_of_four_bytes)
{
	uint32_t count = 0;

	for (uint32_t bits = 0; bits < 1u << 20; bits++) {
		/* All lead and second bytes; third and fourth bytes around their bounds. */
		static const uint8_t edges[] = {0x7f, 0x80, 0xbf, 0xc0};
		char text[4] = {(char)(bits >> 12), (char)(bits >> 4), (char)edges[bits >> 2 & 3],
				(char)edges[bits & 3]};

		count += text_utf8_length(text, 4) == 4;
	}
	/* f0 90..bf, f1-f3 80..bf, f4 80..8f; two good edges each. */
	assert_int_equal(count, (0x30 + 3 * 0x40 + 0x10) * 4);
}

TEST(test_to_line)
{
	char text[] = "a\tb\nc\033[m\x7f é";

	text_to_line(text);
	assert_string_equal(text, "a?b?c?[m? é");
}

static void check_line(const char *text, const char *wanted)
{
	char line[64];

	snprintf(line, sizeof(line), "%s", text);
	text_to_line(line);
	assert_string_equal(line, wanted);
}

/* Nothing that a terminal obeys, or that makes a name look like another. */
TEST(test_to_line_of_format_characters)
{
	check_line("a\xc2\x9b[31mb\xc2\x80\xc2\x85", "a?[31mb??");
	check_line("raw \x9b[31m \x80\xff", "raw ?[31m ??");
	check_line("cut \xe2\x80", "cut ??");
	check_line("\xe2\x80\xae"
		   "exe.c\xe2\x80\xac\xe2\x80\xaa",
		   "?exe.c??");
	check_line("\xe2\x81\xa6x\xe2\x81\xa9", "?x?");
	check_line("\xe2\x80\x8b\xe2\x80\x8d\xe2\x80\x8f\xe2\x80\xa8", "????");
	check_line("\xef\xbb\xbfx\xc2\xad", "?x?");
	check_line("\xd8\x9c\xf3\xa0\x81\x81", "??");
	check_line("\xc0\x9b\xed\xa0\x80", "?????");
	check_line("é … 日本 😀 - ok", "é … 日本 😀 - ok");
	check_line("", "");
}

/* Files in /proc have size 0 and come in pieces. */
TEST(test_read_file)
{
	size_t size = 77;
	char *text = text_read_file("/proc/self/status", 1 << 20, &size);

	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_non_null(strstr(text, "\nPid:\t"));
	free(text);
	text = text_read_file("/proc/self/status", 5, &size);
	assert_string_equal(text, "Name:");
	assert_int_equal(size, 5);
	free(text);
	text = text_read_file("/dev/null", 100, NULL);
	assert_string_equal(text, "");
	free(text);
	assert_null(text_read_file("/proc/self/no-such", 100, &size));
	assert_int_equal(errno, ENOENT);
	assert_null(text_read_file("/", 100, &size));
	assert_int_equal(errno, EISDIR);
}

/* More than one growth, and an odd limit. */
TEST(test_read_fd_of_a_large_file)
{
	FILE *file = tmpfile();
	size_t size, limits[] = {0, 1, 4096, 4097, 99999, 100000, 100001, SIZE_MAX};

	assert_non_null(file);
	for (int i = 0; i < 100000; i++)
		fputc('a' + i % 26, file);
	fflush(file);
	for (size_t i = 0; i < COUNT(limits); i++) {
		size_t expected = limits[i] < 100000 ? limits[i] : 100000;
		char *text;

		lseek(fileno(file), 0, SEEK_SET);
		text = text_read_fd(fileno(file), limits[i], &size);
		assert_non_null(text);
		assert_int_equal(size, expected);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(text[k], 'a' + k % 26);
		assert_int_equal(text[size], '\0');
		free(text);
	}
	fclose(file);
}

TEST(test_format_bytes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},	     {87, "87 B"},	     {999, "999 B"},
		{1000, "1.0 kB"},    {1049, "1.0 kB"},	     {1050, "1.1 kB"},
		{9949, "9.9 kB"},    {9950, "10 kB"},	     {312000, "312 kB"},
		{999499, "999 kB"},  {999500, "1.0 MB"},     {1200000, "1.2 MB"},
		{45600000, "46 MB"}, {7000000000, "7.0 GB"}, {UINT64_MAX, "18 EB"},
	};
	char buf[32];

	for (size_t i = 0; i < COUNT(cases); i++) {
		text_format_bytes(buf, sizeof(buf), cases[i].bytes);
		assert_string_equal(buf, cases[i].text);
	}
	text_format_bytes(buf, 3, 1200000);
	assert_string_equal(buf, "1.");
}

TEST(test_width)
{
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("main"), 4);
	assert_int_equal(text_width("größe"), 5);
	/* The same with an accent of its own. */
	assert_int_equal(text_width("gro\xcc\x88\xc3\x9f"
				    "e"),
			 5);
	assert_int_equal(text_width("関数 f"), 6);
	assert_int_equal(text_width("한글"), 4);
	assert_int_equal(text_width("🚀"), 2);
	assert_int_equal(text_width("…×±"), 3);
}

static void expect_cut(const char *text, size_t width, bool keeps_end, const char *wanted)
{
	char *got = text_cut(text, width, keeps_end);

	assert_string_equal(got, wanted);
	assert_true(text_width(got) <= width);
	free(got);
}

TEST(test_cut)
{
	expect_cut("abcdefghij", 10, false, "abcdefghij");
	expect_cut("abcdefghij", 9, false, "abcdefgh…");
	expect_cut("abcdefghijklmnop", 11, true, "abcdef…mnop");
	expect_cut("abc", 1, true, "…");
	/* Half a letter has no place. */
	expect_cut("関数関数", 4, false, "関…");
	expect_cut("関数関数関数", 8, true, "関数…数");
	expect_cut("", 1, true, "");
}
