/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_files.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY 100000

static struct perf_map map;
static int fd;
static uint64_t pieces;
static char seen[4096]; /* "start+size name\n" of each piece */

static void on_piece(void *ctx, const struct code_piece *piece)
{
	size_t used = strlen(seen);

	pieces++;
	assert_false(piece->is_exact);
	if (used + piece->name_size + 64 < sizeof(seen))
		snprintf(seen + used, sizeof(seen) - used, "%llx+%llx %.*s\n",
			 (unsigned long long)piece->start, (unsigned long long)piece->size,
			 (int)piece->name_size, piece->name);
}

static int setup(void **state)
{
	map = (struct perf_map){0};
	pieces = 0;
	seen[0] = 0;
	fd = memfd_create("map", MFD_CLOEXEC);
	return fd < 0;
}

static int teardown(void **state)
{
	return close(fd);
}

static void append(const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Returns the new pieces. */
static const char *read_more(bool is_last)
{
	seen[0] = 0;
	assert_false(perf_map_read(&map, fd, UINT64_MAX, is_last, on_piece, NULL));
	return seen;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(lines)
{
	static const struct {
		const char *line;
		uint64_t start, size;
		const char *name; /* NULL: malformed */
	} cases[] = {
		{"1000 20 name", 0x1000, 0x20, "name"},
		{"0x1000 0x20 int W.fib(int)", 0x1000, 0x20, "int W.fib(int)"},
		{"7FffABCD 1 JS:*f /a b.js:1:2", 0x7fffabcd, 1, "JS:*f /a b.js:1:2"},
		{"ffffffffffffff00 ff last", 0xffffffffffffff00, 0xff, "last"},
		{"ffffffffffffff00 101 beyond", 0, 0, NULL},
		{"1000 0 empty", 0, 0, NULL},
		{"1000 20 ", 0, 0, NULL},
		{"1000 20", 0, 0, NULL},
		{"1000", 0, 0, NULL},
		{"", 0, 0, NULL},
		{" 1000 20 name", 0, 0, NULL},
		{"1000\t20\tname", 0, 0, NULL},
		{"10000000000000000 20 name", 0, 0, NULL},
		{"-1000 20 name", 0, 0, NULL},
		{"0x 20 name", 0, 0, NULL},
		{"name 1000 20", 0, 0, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct code_piece piece;
		bool is_fine = perf_map_parse_line(cases[i].line, strlen(cases[i].line), &piece);

		assert_int_equal(is_fine, cases[i].name != NULL);
		if (!is_fine)
			continue;
		assert_int_equal(piece.start, cases[i].start);
		assert_int_equal(piece.size, cases[i].size);
		assert_int_equal(piece.name_size, strlen(cases[i].name));
		assert_memory_equal(piece.name, cases[i].name, piece.name_size);
	}
}

CASE(names_are_cut)
{
	char line[2 * CODE_NAME_MAX];
	struct code_piece piece;

	memset(line, 'x', sizeof(line));
	memcpy(line, "1 2 ", 4);
	assert_true(perf_map_parse_line(line, sizeof(line), &piece));
	assert_int_equal(piece.name_size, CODE_NAME_MAX);
	line[6] = 0;
	assert_true(perf_map_parse_line(line, sizeof(line), &piece));
	assert_int_equal(piece.name_size, 2);
}

CASE(only_what_is_new)
{
	assert_string_equal(read_more(false), "");
	append("1000 10 a\n2000 20 b\n30");
	assert_string_equal(read_more(false), "1000+10 a\n2000+20 b\n");
	assert_string_equal(read_more(false), "");
	append("00 30 c");
	assert_string_equal(read_more(false), "");
	append("\nrubbish\n4000 40 d\n");
	assert_string_equal(read_more(false), "3000+30 c\n4000+40 d\n");
	assert_int_equal(map.stats.malformed, 1);
	append("5000 50 e");
	assert_string_equal(read_more(true), "5000+50 e\n");
	assert_int_equal(map.stats.pieces, 5);
	assert_int_equal(map.stats.bytes, lseek(fd, 0, SEEK_END));
}

CASE(a_file_that_is_begun_anew)
{
	append("1000 10 a\n2000 20 b\n");
	read_more(false);
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	append("1000 10 c\n");
	assert_string_equal(read_more(false), "1000+10 c\n");
	/* A new file need not be shorter. */
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	append("7000 10 d\n8000 10 e\n9000 10 f\n");
	assert_string_equal(read_more(false), "7000+10 d\n8000+10 e\n9000+10 f\n");
	assert_int_equal(map.stats.malformed, 0);
}

CASE(lines_without_an_end)
{
	char *rubbish = calloc(1, 1000001);

	memset(rubbish, '1', 1000000);
	append(rubbish);
	assert_string_equal(read_more(false), "");
	append("\n1000 10 a\n");
	assert_string_equal(read_more(false), "1000+10 a\n");
	assert_int_equal(map.stats.malformed, 1);
	free(rubbish);
}

CASE(a_budget_is_kept)
{
	unsigned int rounds = 1;

	for (unsigned int i = 0; i < MANY; i++)
		dprintf(fd, "%x000 1000 function_%u\n", i + 1, i);
	while (perf_map_read(&map, fd, 1 << 20, false, on_piece, NULL))
		rounds++;
	assert_int_equal(pieces, MANY);
	assert_int_equal(rounds, (uint64_t)lseek(fd, 0, SEEK_END) / (1 << 20) + 1);
}
