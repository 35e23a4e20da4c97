/* SPDX-License-Identifier: MIT */
/* Fields of tracepoints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/stream/text/tracepoint_format.h"
#include "tests/unit/test.h"

#define COMMON \
	"name: n\nID: 1\nformat:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct tracepoint_format format;
static uint8_t bytes[300];

static int parse(const char *text)
{
	struct error err = {0};

	return tracepoint_format_parse(&format, "a:n", text, strlen(text), &err);
}

static const struct tracepoint_field *field(const char *key)
{
	for (uint32_t i = 0; i < format.count; i++) {
		if (strcmp(format.fields[i].key, key) == 0)
			return &format.fields[i];
	}
	fail_msg("no field %s", key);
	return NULL;
}

static int64_t number(const char *key)
{
	struct tracepoint_value value;

	assert_true(tracepoint_field_read(field(key), bytes, sizeof(bytes), &value));
	assert_null(value.text);
	return value.number;
}

static const char *text(const char *key)
{
	static char copy[300];
	struct tracepoint_value value;

	assert_true(tracepoint_field_read(field(key), bytes, sizeof(bytes), &value));
	assert_non_null(value.text);
	snprintf(copy, sizeof(copy), "%.*s", (int)value.size, value.text);
	return copy;
}

TEST(fields_of_all_kinds)
{
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(parse(COMMON
			       "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			       "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			       "\tfield:u8 flag;\toffset:28;\tsize:1;\tsigned:0;\n"
			       "\tfield:s16 small;\toffset:30;\tsize:2;\tsigned:1;\n"
			       "\tfield:unsigned long long big;\toffset:32;\tsize:8;\tsigned:0;\n"
			       "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
			       "\tfield:int type;\toffset:44;\tsize:4;\tsigned:1;\n"
			       "\tfield:const void * address;\toffset:48;\tsize:8;\tsigned:0;\n"
			       "\tfield:__data_loc u8[] raw;\toffset:56;\tsize:4;\tsigned:0;\n"
			       "\tfield:unsigned long args[6];\toffset:64;\tsize:48;\tsigned:0;\n"
			       "\tfield:__rel_loc char[] near;\toffset:112;\tsize:4;\tsigned:0;\n"
			       "\nprint fmt: \"%s field:int no;\", REC->comm\n"),
			 0);
	assert_int_equal(format.count, 7);
	assert_int_equal(format.layout.size, 48);
	assert_int_equal(format.layout.dynamic_count, 1);
	assert_int_equal(format.layout.dynamic[0], 40);
	memcpy(bytes + 8, "sixteen letters!", 16);
	memcpy(bytes + 24, &(int32_t){-7}, 4);
	bytes[28] = 200;
	memcpy(bytes + 30, &(int16_t){-300}, 2);
	memcpy(bytes + 32, &(uint64_t){1ull << 40}, 8);
	memcpy(bytes + 40, &(uint32_t){200 | 6u << 16}, 4);
	memcpy(bytes + 200, "a b\0cd", 6);
	memcpy(bytes + 44, &(int32_t){3}, 4);
	assert_string_equal(text("comm"), "sixteen letters!");
	assert_int_equal(number("pid"), -7);
	assert_int_equal(number("flag"), 200);
	assert_int_equal(number("small"), -300);
	assert_int_equal(number("big"), 1ll << 40);
	assert_string_equal(text("name"), "a b");
	assert_int_equal(number("type_"), 3);
}

TEST(places_outside_are_no_values)
{
	struct tracepoint_value value;

	assert_int_equal(parse(COMMON "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\n"
				      "\tfield:int last;\toffset:12;\tsize:4;\tsigned:1;\n"),
			 0);
	memcpy(bytes + 8, &(uint32_t){290 | 11u << 16}, 4);
	assert_false(tracepoint_field_read(field("name"), bytes, sizeof(bytes), &value));
	memcpy(bytes + 8, &(uint32_t){0xffff}, 4);
	assert_false(tracepoint_field_read(field("name"), bytes, sizeof(bytes), &value));
	memcpy(bytes + 8, &(uint32_t){300}, 4);
	assert_true(tracepoint_field_read(field("name"), bytes, sizeof(bytes), &value));
	assert_int_equal(value.size, 0);
	assert_false(tracepoint_field_read(field("last"), bytes, 15, &value));
	assert_false(tracepoint_field_read(field("name"), bytes, 4, &value));
}

TEST(what_is_no_format)
{
	static const char *const texts[] = {
		"",
		"name: n\n",
		"\tfield:int a;\toffset:x;\tsize:4;\n",
		"\tfield:int a;\tsize:4;\n",
		"\tfield:int a\n",
		"\tfield:int a;\toffset:99999999999999;\tsize:4;\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(parse(texts[i]), -EBADMSG);
}

TEST(fields_beyond_the_limits_are_left_out)
{
	char many[4096] = COMMON;

	for (int i = 0; i < 20; i++)
		snprintf(many + strlen(many), 80, "\tfield:int f%d;\toffset:8;\tsize:4;\n", i);
	assert_int_equal(parse(many), 0);
	assert_int_equal(format.count, TRACEPOINT_FIELDS_MAX);
	assert_int_equal(parse(COMMON "\tfield:int far;\toffset:254;\tsize:4;\n"
				      "\tfield:int wrap;\toffset:4294967295;\tsize:4;\n"
				      "\tfield:int odd;\toffset:8;\tsize:3;\n"
				      "\tfield:int none;\toffset:8;\tsize:0;\n"
				      "\tfield:int ;\toffset:8;\tsize:4;\n"
				      "\tfield:;\toffset:8;\tsize:4;\n"
				      "\tfield:];\toffset:8;\tsize:4;\n"
				      "\tfield:int a;\toffset:8;\tsize:4;\n"
				      "\tfield:int a;\toffset:12;\tsize:4;\n"),
			 0);
	/* "int ;" declares a field of that name, as far as words tell. */
	assert_int_equal(format.count, 2);
	assert_int_equal(field("a")->offset, 8);
}
