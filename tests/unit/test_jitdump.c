/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jitdump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/jitdump_bytes.h"
#include "tests/unit/test.h"

#define V8_PADDING 0xdeadbeef
#define ARCH_TIMES 1

static struct jitdump dump;
static struct arch_clock began;
static int fd;
static uint64_t last_since;
static bool last_is_exact;
static char seen[8192]; /* "time start+size name [offset:line:file]…\n" of each piece */

static void on_piece(void *ctx, const struct code_piece *piece)
{
	FILE *out = fmemopen(seen + strlen(seen), sizeof(seen) - strlen(seen), "w");

	last_since = piece->since;
	last_is_exact = piece->is_exact;
	fprintf(out, "%llu %llx+%llx %.*s", (unsigned long long)piece->since,
		(unsigned long long)piece->start, (unsigned long long)piece->size,
		(int)piece->name_size, piece->name);
	for (size_t i = 0; i < piece->line_count; i++) {
		assert_true(piece->lines[i].file < piece->files_size);
		fprintf(out, " %x:%u:%s", piece->lines[i].offset, piece->lines[i].line,
			piece->files + piece->lines[i].file);
	}
	if (piece->moved_from)
		fprintf(out, " from %llx", (unsigned long long)piece->moved_from);
	if (piece->eh_frame)
		fprintf(out, " '%.*s'", (int)piece->eh_frame_size, (const char *)piece->eh_frame);
	fprintf(out, "\n");
	fclose(out);
}

static int setup(void **state)
{
	dump = (struct jitdump){0};
	arch_clock_read(&began);
	fd = memfd_create("dump", MFD_CLOEXEC);
	return fd < 0;
}

static int teardown(void **state)
{
	jitdump_release(&dump);
	return close(fd);
}

static const char *read_more(void)
{
	memset(seen, 0, sizeof(seen));
	assert_false(jitdump_read(&dump, fd, UINT64_MAX, &began, on_piece, NULL));
	return seen;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(only_what_is_new)
{
	assert_string_equal(read_more(), "");
	jitdump_write_header(fd, 0, 0);
	assert_string_equal(read_more(), "");
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	jitdump_write_load(fd, 6, 0x2000, 0x2000, 2, "b c");
	assert_string_equal(read_more(), "5 1000+20 a\n6 2000+2000 b c\n");
	assert_string_equal(read_more(), "");
	jitdump_write_record(fd, 77, 7, NULL, 0);
	jitdump_write_load(fd, 8, 0x3000, 0x20, 3, "d");
	jitdump_write_record(fd, 3, 9, NULL, 0);
	assert_string_equal(read_more(), "8 3000+20 d\n");
	assert_int_equal(dump.stats.pieces, 3);
	assert_int_equal(dump.stats.malformed, 0);
	assert_true(last_is_exact);
}

/* Records are written in parts: the first part is there before the last. */
CASE(records_that_are_not_complete)
{
	char copy[4096];
	ssize_t size;
	int whole = fd;

	jitdump_write_header(whole, 0, 0);
	jitdump_write_load(whole, 5, 0x1000, 0x20, 1, "a");
	size = pread(whole, copy, sizeof(copy), 0);
	fd = memfd_create("part", MFD_CLOEXEC);
	for (ssize_t i = 0; i < size; i++) {
		assert_string_equal(read_more(), "");
		assert_int_equal(write(fd, copy + i, 1), 1);
	}
	assert_string_equal(read_more(), "5 1000+20 a\n");
	assert_int_equal(dump.stats.malformed, 0);
	close(whole);
}

CASE(code_that_moves)
{
	static const struct jitdump_line lines[] = {{0x1008, 7, "a.c"}};

	jitdump_write_header(fd, 0, 0);
	jitdump_write_lines(fd, 0x1000, lines, 1);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 42, "a");
	jitdump_write_move(fd, 6, 0x1000, 0x8000, 0x20, 42);
	jitdump_write_move(fd, 7, 0x8000, 0x9000, 0x20, 42);
	/* A move of unknown code. */
	jitdump_write_move(fd, 8, 0x8000, 0x9000, 0x20, 43);
	assert_string_equal(read_more(), "5 1000+20 a 8:7:a.c\n6 8000+20 a 8:7:a.c from 1000\n"
					 "7 9000+20 a 8:7:a.c from 8000\n");
	assert_int_equal(dump.stats.malformed, 1);
}

/* A move waits, with everything after it, while samples at the old place may still come. */
CASE(moves_that_come_too_early)
{
	jitdump_write_header(fd, 0, 0);
	jitdump_write_load(fd, 50, 0x1000, 0x20, 42, "a");
	jitdump_write_move(fd, 60, 0x1000, 0x8000, 0x20, 42);
	jitdump_write_load(fd, 70, 0x1000, 0x20, 43, "b");
	dump.moves_until = 49;
	assert_string_equal(read_more(), "50 1000+20 a\n");
	dump.moves_until = 59;
	assert_string_equal(read_more(), "");
	dump.moves_until = 60;
	assert_string_equal(read_more(), "60 8000+20 a from 1000\n70 1000+20 b\n");
	dump.moves_until = 61;
	jitdump_write_move(fd, 80, 0x8000, 0x9000, 0x20, 42);
	assert_string_equal(read_more(), "");
	dump.moves_until = 0;
	assert_string_equal(read_more(), "80 9000+20 a from 8000\n");
}

CASE(lines_of_the_code_that_follows)
{
	static const struct jitdump_line lines[] = {
		{0x1000, 7, "a.c"}, {0x1008, 8, "\xff"}, {0x1008, 9, "a.c"},
		{0x1010, 1, "b.h"}, {0x1018, 10, "a.c"},
	};

	jitdump_write_header(fd, 0, 0);
	jitdump_write_lines(fd, 0x1000, lines, 5);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	jitdump_write_load(fd, 6, 0x1000, 0x20, 1, "none");
	jitdump_write_lines(fd, 0x1000, lines, 5);
	jitdump_write_load(fd, 7, 0x2000, 0x20, 1, "other");
	assert_string_equal(read_more(), "5 1000+20 a 0:7:a.c 8:8:a.c 8:9:a.c 10:1:b.h 18:10:a.c\n"
					 "6 1000+20 none\n7 2000+20 other\n");
}

CASE(call_frame_information_of_the_code_that_follows)
{
	jitdump_write_header(fd, 0, 0);
	jitdump_write_unwinding(fd, "frame+hdr", 9, 4);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	jitdump_write_load(fd, 6, 0x2000, 0x20, 2, "none");
	jitdump_write_unwinding(fd, "no hdr", 6, 0);
	jitdump_write_load(fd, 7, 0x3000, 0x20, 3, "b");
	jitdump_write_move(fd, 8, 0x1000, 0x4000, 0x20, 1);
	jitdump_write_unwinding(fd, "hdr", 3, 3);
	jitdump_write_load(fd, 9, 0x5000, 0x20, 4, "none");
	assert_string_equal(read_more(), "5 1000+20 a 'frame'\n6 2000+20 none\n"
					 "7 3000+20 b 'no hdr'\n8 4000+20 a from 1000 'frame'\n"
					 "9 5000+20 none\n");
	assert_int_equal(dump.stats.malformed, 0);
}

CASE(call_frame_information_that_makes_no_sense)
{
	static const struct {
		uint64_t size, hdr_size;
	} cases[] = {{9, 0}, {UINT64_MAX, 0}, {8, 9}, {8, UINT64_MAX}};

	jitdump_write_header(fd, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uint64_t body[] = {cases[i].size, cases[i].hdr_size, 0, 0x4141414141414141};

		jitdump_write_record(fd, 4, 0, body, sizeof(body));
		jitdump_write_load(fd, 5, 0x1000, 0x20, i, "a");
		assert_string_equal(read_more(), "5 1000+20 a\n");
		assert_int_equal(dump.stats.malformed, i + 1);
	}
	jitdump_write_record(fd, 4, 0, cases, 8);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "short");
	assert_string_equal(read_more(), "5 1000+20 short\n");
	assert_int_equal(dump.stats.malformed, sizeof(cases) / sizeof(*cases) + 1);
}

CASE(v8_counts_from_an_elf_header)
{
	static const struct jitdump_line lines[] = {{0x1040, 7, "a.js"}, {0x105f, 8, "a.js"}};

	jitdump_write_header(fd, V8_PADDING, 0);
	jitdump_write_lines(fd, 0x1000, lines, 2);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	assert_string_equal(read_more(), "5 1000+20 a 0:7:a.js 1f:8:a.js\n");
}

/* Its first row lies before the code, its last at the end, without a line. */
CASE(lines_of_erlang)
{
	static const struct jitdump_line lines[] = {
		{0xff8, 7, "a.erl"}, {0x1010, 8, "a.erl"}, {0x1020, 0, "a.erl"}};

	jitdump_write_header(fd, 0, 0);
	jitdump_write_lines(fd, 0x1000, lines, 3);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	assert_string_equal(read_more(), "5 1000+20 a 0:7:a.erl 10:8:a.erl\n");
	assert_int_equal(dump.stats.malformed, 0);
}

CASE(lines_that_make_no_sense)
{
	static const struct jitdump_line cases[][2] = {
		{{0x1000, 7, "a.c"}, {0x1020, 8, "a.c"}}, /* behind the code */
		{{0xe00, 7, "a.c"}, {0x1010, 8, "a.c"}}, /* far before it */
		{{0x1000, 7, "a.c"}, {0xfff, 8, "a.c"}},
		{{0x1010, 7, "a.c"}, {0x1008, 8, "a.c"}}, /* back */
		{{0x1000, 7, "\xff"}, {0x1008, 8, "a.c"}}, /* like the one before, which is none */
		{{0x1000, 7, "a\001"}, {0x1008, 8, "a.c"}},
		{{0x1000, 7, "\xc3("}, {0x1008, 8, "a.c"}},
		{{0x1000, 7, ""}, {0x1008, 8, "a.c"}},
	};

	jitdump_write_header(fd, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		jitdump_write_lines(fd, 0x1000, cases[i], 2);
		jitdump_write_load(fd, 5, 0x1000, 0x20, i, "a");
		assert_string_equal(read_more(), "5 1000+20 a\n");
		assert_int_equal(dump.stats.malformed, i + 1);
	}
}

CASE(lines_of_code_that_is_too_large)
{
	static const struct jitdump_line lines[] = {{0x1000, 7, "a.c"}, {0x100001000, 8, "a.c"}};

	jitdump_write_header(fd, 0, 0);
	jitdump_write_lines(fd, 0x1000, lines, 2);
	jitdump_write_load(fd, 5, 0x1000, 0x200000000, 1, "a");
	assert_string_equal(read_more(), "5 1000+200000000 a\n");
	assert_int_equal(dump.stats.malformed, 1);
}

CASE(records_that_make_no_sense)
{
	jitdump_write_header(fd, 0, 0);
	jitdump_write_load(fd, 5, 0x1000, 0, 1, "empty");
	jitdump_write_load(fd, 5, 0xffffffffffffff00, 0x101, 1, "beyond");
	jitdump_write_record(fd, 0, 5, "short", 5);
	jitdump_write_record(fd, 1, 5, "short", 5);
	jitdump_write_record(fd, 2, 5, "short", 5);
	assert_string_equal(read_more(), "");
	assert_int_equal(dump.stats.malformed, 5);
	jitdump_write_load(fd, 6, 0x1000, 0x20, 1, "fine");
	assert_string_equal(read_more(), "6 1000+20 fine\n");
	/* The place of the next record is unknown. */
	assert_int_equal(write(fd, "\0\0\0\0\x0f\0\0\0\0\0\0\0\0\0\0\0", 16), 16);
	jitdump_write_load(fd, 6, 0x1000, 0x20, 1, "fine");
	assert_string_equal(read_more(), "");
	assert_true(dump.is_broken);
}

CASE(what_is_no_jitdump)
{
	jitdump_write_record(fd, 0x4454694a, 0, "in the other byte order, so not from here", 40);
	assert_string_equal(read_more(), "");
	assert_int_equal(dump.stats.malformed, 1);
	assert_true(dump.is_broken);
}

CASE(long_names_are_cut)
{
	char name[2 * CODE_NAME_MAX];
	size_t size = sizeof(name) - 1;

	memset(name, 'x', size);
	name[size] = 0;
	jitdump_write_header(fd, 0, 0);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, name);
	read_more();
	assert_int_equal(strspn(strchr(seen, 'x'), "x"), CODE_NAME_MAX);
	assert_int_equal(dump.stats.pieces, 1);
}

/* Times of the CPU's clock are converted to CLOCK_MONOTONIC. */
CASE(times_of_the_cpu)
{
	struct arch_clock moment, later;

	/* Far enough apart that rounding does not matter, however long it takes. */
	do
		arch_clock_read(&moment);
	while (moment.ns < began.ns + 1000000);
	do
		arch_clock_read(&later);
	while (later.ns < moment.ns + 1000000);
	jitdump_write_header(fd, 0, ARCH_TIMES);
	jitdump_write_load(fd, moment.ticks, 0x1000, 0x20, 1, "a");
	read_more();
	assert_true(last_is_exact);
	assert_true(last_since > began.ns && last_since < later.ns);
}

CASE(clocks)
{
	static const struct arch_clock first = {1000, 5000}, second = {2000, 7000};

	assert_int_equal(arch_clock_to_ns(&first, &second, 1000), 5000);
	assert_int_equal(arch_clock_to_ns(&first, &second, 1500), 6000);
	assert_int_equal(arch_clock_to_ns(&first, &second, 500), 4000);
	assert_int_equal(arch_clock_to_ns(&first, &second, 3000), 9000);
	assert_int_equal(arch_clock_to_ns(&first, &first, 1000), 0);
	assert_int_equal(arch_clock_to_ns(&second, &first, 1000), 0);
	assert_int_equal(arch_clock_to_ns(&first, &second, UINT64_MAX), 0);
}
