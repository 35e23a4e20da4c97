/* SPDX-License-Identifier: MIT */
/* Answers are the same whether all units are read or only those that addresses hit. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/own_program.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

/* Addresses spread over so much code of this program that libiberty's, without DWARF, is little. */
#define COUNT 4000
#define STEP 127

static struct scratch scratch;
static uint64_t rvas[COUNT];

struct asked {
	int fd;
	struct symbolizer *symbolizer;
	struct answer answers[COUNT];
};

static struct asked plain, other;

extern const char etext[];

static int setup(void **state)
{
	scratch_init(&scratch);
	scratch_run(&scratch, "cp /proc/%d/exe plain", (int)getpid());
	for (size_t i = 0; i < COUNT; i++)
		rvas[i] = own_rva(etext) - (COUNT - i) * STEP;
	return 0;
}

static int teardown(void **state)
{
	scratch_release(&scratch);
	return 0;
}

/* Asks for each `step`-th address. */
static void ask(struct asked *asked, const char *name, size_t first, size_t step)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {
		.module = &module,
		.fd = asked->fd = scratch_open(&scratch, name),
	};

	memset(asked->answers, 0, sizeof(asked->answers));
	assert_int_equal(symbolizer_dwarf.open(&asked->symbolizer, &input, NULL), 0);
	for (size_t i = first; i < COUNT; i += step)
		asked->symbolizer->ops->lookup(asked->symbolizer, &rvas[i], 1, &asked->answers[i]);
}

static void forget(struct asked *asked)
{
	asked->symbolizer->ops->free(asked->symbolizer);
	close(asked->fd);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_same(const struct answer *a, const struct answer *b)
{
	assert_int_equal(a->depth, b->depth);
	assert_true(same_text(a->func, b->func));
	assert_int_equal(a->func_start, b->func_start);
	assert_int_equal(a->func_size, b->func_size);
	for (size_t i = 0; i < a->depth; i++) {
		assert_true(same_text(a->chain[i].func, b->chain[i].func));
		assert_true(same_text(a->chain[i].file, b->chain[i].file));
		assert_int_equal(a->chain[i].line, b->chain[i].line);
	}
}

static void check_file(const char *name, size_t first, size_t step)
{
	size_t known = 0;

	ask(&other, name, first, step);
	for (size_t i = first; i < COUNT; i += step) {
		check_same(&plain.answers[i], &other.answers[i]);
		known += plain.answers[i].depth > 0;
	}
	assert_true(known > COUNT / step / 2);
	forget(&other);
}

TEST(units_need_not_say_where_they_are)
{
	scratch_run(&scratch, "objcopy -R .debug_aranges plain silent");
	ask(&plain, "silent", 0, 1);
	check_file("plain", 0, 1);
	check_file("plain", 5, 1000);
	forget(&plain);
}

TEST(units_are_unpacked_as_far_as_they_are_needed)
{
	scratch_run(&scratch, "objcopy --compress-debug-sections=zlib plain packed && "
			      "objcopy -R .debug_aranges packed packed-silent");
	ask(&plain, "plain", 0, 1);
	check_file("packed", 0, 1);
	check_file("packed", 3, 1000);
	check_file("packed-silent", 1, 10);
	forget(&plain);
}

/* An address outside of all units makes all of them read, which changes no other answer. */
TEST(all_units_after_some)
{
	struct answer nothing = {0}, again[COUNT] = {{0}};
	uint64_t rva = 0;

	scratch_run(&scratch, "objcopy --compress-debug-sections=zlib plain packed");
	ask(&plain, "packed", 0, 100);
	plain.symbolizer->ops->lookup(plain.symbolizer, &rva, 1, &nothing);
	assert_null(nothing.chain);
	for (size_t i = 0; i < COUNT; i += 100) {
		plain.symbolizer->ops->lookup(plain.symbolizer, &rvas[i], 1, &again[i]);
		check_same(&plain.answers[i], &again[i]);
	}
	forget(&plain);
}

/* Makes each third set claim another start of its unit. */
static void spoil(const char *name)
{
	_cleanup_free_ char *path = scratch_path(&scratch, name);
	size_t size, number = 0;
	_cleanup_free_ char *ranges = text_read_file(path, 1 << 20, &size);
	FILE *file = fopen(path, "w");

	assert_non_null(ranges);
	for (size_t at = 0; at + 16 < size; number++) {
		uint32_t length, unit;

		memcpy(&length, ranges + at, sizeof(length));
		memcpy(&unit, ranges + at + 6, sizeof(unit));
		unit = number % 6 == 0 ? unit + 7 : number % 3 == 0 ? UINT32_MAX - 20 : unit;
		memcpy(ranges + at + 6, &unit, sizeof(unit));
		at += sizeof(length) + length;
	}
	assert_true(number > 10);
	assert_int_equal(fwrite(ranges, 1, size, file), size);
	fclose(file);
}

TEST(wrong_units_mislead_nobody)
{
	scratch_run(&scratch, "objcopy --dump-section .debug_aranges=ranges plain dumped");
	spoil("ranges");
	scratch_run(&scratch, "objcopy --update-section .debug_aranges=ranges plain wrong");
	ask(&plain, "plain", 0, 1);
	check_file("wrong", 0, 1);
	check_file("wrong", 7, 500);
	forget(&plain);
}

/* Returns the number of places that have lines, each asked for as `like`. */
static size_t count_lines(struct asked *asked, const struct answer *like)
{
	size_t known = 0;

	for (size_t i = 0; i < COUNT; i += 20) {
		struct answer answer = *like;

		asked->symbolizer->ops->lookup(asked->symbolizer, &rvas[i], 1, &answer);
		known += answer.depth > 0;
	}
	return known;
}

/* Stubs and startup code have no units: to look for them, not all are read. */
TEST(code_of_the_linker_is_not_searched_in_all_units)
{
	const struct answer stub = {.func = "read@plt", .is_stub = true};
	const struct answer start = {.func = "_start"}, other_code = {.func = "main"};
	size_t listed, all;

	scratch_run(&scratch, "objcopy --dump-section .debug_aranges=ranges plain dumped");
	spoil("ranges");
	scratch_run(&scratch, "objcopy --update-section .debug_aranges=ranges plain wrong");
	ask(&plain, "wrong", COUNT, 1);
	listed = count_lines(&plain, &stub);
	assert_true(listed > 0);
	assert_int_equal(count_lines(&plain, &start), listed);
	all = count_lines(&plain, &other_code);
	assert_true(all > listed);
	assert_int_equal(count_lines(&plain, &stub), all);
	forget(&plain);
}

TEST_GROUP(setup, teardown);
