/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "lib/model/tables/profile.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	*state = profile_new();
	return 0;
}

static int teardown(void **state)
{
	profile_free(*state);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(equal_strings_are_one)
{
	struct strings *s = &((struct profile *)*state)->strings;
	string_id a = strings_intern(s, "alpha"), empty = strings_intern(s, "");

	assert_int_equal(strings_intern(s, "alpha"), a);
	assert_int_not_equal(strings_intern(s, "alph"), a);
	assert_int_not_equal(strings_intern(s, "alphabet"), a);
	assert_int_equal(strings_intern_sized(s, "alphabet", 5), a);
	assert_int_equal(strings_intern_sized(s, NULL, 0), empty);
	assert_int_equal(strings_intern_sized(s, "alpha\0beta", 10), a);
	assert_string_equal(strings_get(s, a), "alpha");
	assert_int_equal(strings_size(s, a), 5);
	assert_string_equal(strings_get(s, NO_STRING), "");
	assert_int_equal(strings_size(s, NO_STRING), 0);
}

CASE(any_bytes_are_a_string)
{
	struct strings *s = &((struct profile *)*state)->strings;
	string_id id = strings_intern(s, "\xff\xfe\x80 \n\"");

	assert_string_equal(strings_get(s, id), "\xff\xfe\x80 \n\"");
	assert_int_equal(strings_size(s, id), 6);
}

CASE(many_strings_keep_their_ids)
{
	struct strings *s = &((struct profile *)*state)->strings;
	char text[32];

	for (unsigned int i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		assert_int_equal(strings_intern(s, text), i);
	}
	for (unsigned int i = 0; i < 50000; i += 7) {
		snprintf(text, sizeof(text), "string %u", i);
		assert_int_equal(strings_intern(s, text), i);
		assert_string_equal(strings_get(s, i), text);
	}
	assert_int_equal(s->rows.count, 50000);
}

/* Holds at the moment when the text moves, too. */
CASE(a_part_of_a_string_can_be_interned)
{
	struct strings *s = &((struct profile *)*state)->strings;
	char text[64], part[64];

	for (unsigned int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "/a/directory/file%u", i);
		snprintf(part, sizeof(part), "file%u", i);

		string_id whole = strings_intern(s, text);
		string_id name = strings_intern(s, strings_get(s, whole) + strlen("/a/directory/"));

		assert_string_equal(strings_get(s, name), part);
	}
}

static const struct frame a_frame = {
	.module = 1,
	.func = 2,
	.offset = 3,
	.symbol = 4,
	.line = 5,
	.inline_depth = 6,
	.kind = PROFILE_FRAME_GUESS,
};

CASE(a_frame_is_all_its_fields)
{
	struct frames *f = &((struct profile *)*state)->frames;
	frame_id id = frames_intern(f, &a_frame);
	struct frame variants[7];

	for (size_t i = 0; i < 7; i++)
		variants[i] = a_frame;
	variants[0].module = NO_MODULE;
	variants[1].func = NO_FUNC;
	variants[2].offset = UINT64_MAX;
	variants[3].symbol = NO_SYMBOL;
	variants[4].line = 0;
	variants[5].inline_depth = 0;
	variants[6].kind = PROFILE_FRAME_NATIVE;
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(frames_intern(f, &variants[i]), i + 1);
	assert_int_equal(frames_intern(f, &a_frame), id);
	assert_int_equal(f->rows.count, 8);
	assert_int_equal(frames_get(f, 3)->offset, UINT64_MAX);
}

CASE(a_function_is_name_module_and_file)
{
	struct funcs *f = &((struct profile *)*state)->funcs;
	struct func func = {.name = 1, .module = 2, .file = NO_SOURCE_FILE, .is_named = true};

	assert_int_equal(funcs_intern(f, &func), 0);
	func.file = 0;
	assert_int_equal(funcs_intern(f, &func), 1);
	func.module = NO_MODULE;
	assert_int_equal(funcs_intern(f, &func), 2);
	func.name = 2;
	assert_int_equal(funcs_intern(f, &func), 3);
	func.is_named = false;
	assert_int_equal(funcs_intern(f, &func), 3);
}

CASE(a_symbol_is_its_place)
{
	struct symbols *s = &((struct profile *)*state)->symbols;
	struct symbol symbol = {.module = 1, .name = 7, .rva = 0x1000, .size = 16};

	assert_int_equal(symbols_intern(s, &symbol), 0);
	symbol.name = 8;
	symbol.size = 32;
	assert_int_equal(symbols_intern(s, &symbol), 0);
	assert_int_equal(s->rows.items[0].name, 7);
	symbol.rva = 0x1001;
	assert_int_equal(symbols_intern(s, &symbol), 1);
	symbol.module = 2;
	assert_int_equal(symbols_intern(s, &symbol), 2);
}

CASE(a_source_file_is_its_path)
{
	struct source_files *s = &((struct profile *)*state)->source_files;

	assert_int_equal(source_files_intern(s, 9), 0);
	assert_int_equal(source_files_intern(s, 4), 1);
	assert_int_equal(source_files_intern(s, 9), 0);
}
