/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/kernel_types.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/type_bytes.h"
#include "tests/unit/test.h"

/* A BTF, and what is picked from it. */
static struct strbuf whole, picked;

static int setup(void **state)
{
	type_bytes_begin();
	return 0;
}

static int teardown(void **state)
{
	type_bytes_end();
	strbuf_release(&whole);
	strbuf_release(&picked);
	return 0;
}

static struct types_header *make_whole(void)
{
	return type_bytes_finish(&whole);
}

static struct attach_point function = {.name = "attach"};

/* Picks up to two names. */
static int pick(const char *name, const char *other)
{
	struct type_names names = {0};
	/* A block of exact size, so that sanitizers see reads beyond it. */
	void *copy = malloc(whole.size);
	int ret;

	memcpy(copy, whole.text, whole.size);
	type_names_add(&names, name);
	if (other)
		type_names_add(&names, other);
	strbuf_reset(&picked);
	ret = kernel_types_pick(&picked, copy, whole.size, &names, &function, 1, NULL);
	type_names_release(&names);
	free(copy);
	return ret;
}

static const char *picked_text(uint32_t offset)
{
	const struct types_header *header = (const void *)picked.text;

	assert_true(offset < header->strings_size);
	return picked.text + header->header_size + header->strings_offset + offset;
}

/* Prints the data behind a type; returns its size. */
static size_t describe_rest(char *to, size_t room, uint32_t info, const uint32_t *rest)
{
	uint32_t count = BTF_INFO_VLEN(info);
	int used = 0;

	switch (BTF_INFO_KIND(info)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		snprintf(to, room, " [%u]%u", rest[2], rest[0]);
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < count; i++, rest += 3)
			used += snprintf(to + used, room - (size_t)used, " %s:%u@%x",
					 picked_text(rest[0]), rest[1], rest[2]);
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		for (uint32_t i = 0; i < count; i++, rest += 2)
			used += snprintf(to + used, room - (size_t)used, " %s=%u",
					 picked_text(rest[0]), rest[1]);
		return count * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		for (uint32_t i = 0; i < count; i++, rest += 3)
			used += snprintf(to + used, room - (size_t)used, " %s=%x%08x",
					 picked_text(rest[0]), rest[2], rest[1]);
		return count * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

/* Lists the picked types, a line each: number, kind, name, size or type, data. */
static const char *picked_types(void)
{
	static char lines[4096];
	const struct types_header *header = (const void *)picked.text;
	size_t used = 0, at = header->header_size;
	uint32_t number = 1;

	lines[0] = 0;
	while (at < header->header_size + header->types_size) {
		const uint32_t *type = (const void *)(picked.text + at);
		char rest[1024] = "";

		at += 12 + describe_rest(rest, sizeof(rest), type[1], type + 3);
		used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%u %u%s %s %u%s\n",
					 number++, BTF_INFO_KIND(type[1]),
					 BTF_INFO_KFLAG(type[1]) ? "+" : "", picked_text(type[0]),
					 type[2], rest);
	}
	return lines;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(test_structs)
{
	uint32_t number, inner, pointer;

	number = add_int("int", 4);
	add_int("long", 8);
	inner = add_struct("inner", 1, 4);
	add_member("x", number, 0);
	pointer = add_type("", BTF_KIND_PTR, 0, inner);
	add_struct("unrelated", 1, 4);
	add_member("y", inner, 0);
	add_struct("wanted", 3, 16);
	add_member("in", inner, 0);
	add_member("p", pointer, 64);
	add_member("x", number, 32);
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	/* Picked pointers lead nowhere, and nothing unneeded is picked. */
	assert_string_equal(picked_types(), "1 4 wanted 16 in:2@0 p:3@40 x:4@20\n"
					    "2 4 inner 4 x:4@0\n"
					    "3 2  0\n"
					    "4 1 int 4\n");
}

/* Types that contain others in every way, and types of values alone. */
CASE(test_other_kinds)
{
	uint32_t number, array, nameless, large, named, qualified;

	number = add_int("int", 4);
	array = add_array(number, number, 7);
	nameless = add_type("", BTF_KIND_UNION, 1, 28);
	add_member("list", array, 0);
	large = add_type("big", BTF_KIND_ENUM64, 1, 8);
	add_u32(add_text("HUGE"));
	add_u32(1);
	add_u32(0x80000000);
	named = add_type("small", BTF_KIND_ENUM, 2, 4);
	add_u32(add_text("ONE"));
	add_u32(1);
	add_u32(add_text("TWO"));
	add_u32(2);
	qualified = add_type("", BTF_KIND_CONST, 0, named);
	qualified = add_type("", BTF_KIND_VOLATILE, 0, qualified);
	qualified = add_type("", BTF_KIND_RESTRICT, 0, qualified);
	qualified = add_type("tag", BTF_KIND_TYPE_TAG, 0, qualified);
	qualified = add_type("small_t", BTF_KIND_TYPEDEF, 0, qualified);
	/* kind_flag: the members are bit fields. */
	add_struct("wanted", 1u << 31 | 4, 48);
	add_member("", nameless, 0);
	add_member("e", large, 224);
	add_member("t", qualified, 288);
	add_member("bits", number, 3u << 24 | 320);
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	assert_string_equal(picked_types(), "1 4+ wanted 48 :2@0 e:3@e0 t:4@120 bits:5@3000140\n"
					    "2 5  28 list:6@0\n"
					    "3 19 big 8 HUGE=8000000000000001\n"
					    "4 8 small_t 7\n"
					    "5 1 int 4\n"
					    "6 3  0 [7]5\n"
					    "7 18 tag 8\n"
					    "8 11  9\n"
					    "9 9  10\n"
					    "10 10  11\n"
					    "11 6 small 4 ONE=1 TWO=2\n");
}

CASE(test_kinds_that_are_passed_over)
{
	uint32_t number, proto;

	number = add_int("int", 4);
	proto = add_type("", BTF_KIND_FUNC_PROTO, 1, number);
	add_u32(add_text("argument"));
	add_u32(number);
	add_type("wanted", BTF_KIND_FUNC, 1, proto);
	add_type("wanted", BTF_KIND_VAR, 0, number);
	add_u32(1);
	add_type("wanted", BTF_KIND_DATASEC, 1, 4);
	add_u32(4);
	add_u32(0);
	add_u32(4);
	add_type("wanted", BTF_KIND_DECL_TAG, 0, number);
	add_u32(0);
	add_type("wanted", BTF_KIND_FLOAT, 0, 8);
	add_type("wanted", BTF_KIND_FWD, 0, 0);
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	assert_string_equal(picked_types(), "1 16 wanted 8\n2 7 wanted 0\n");
}

CASE(test_functions)
{
	uint32_t number, proto;

	number = add_int("attach", 4);
	proto = add_type("", BTF_KIND_FUNC_PROTO, 0, number);
	add_type("attached", BTF_KIND_FUNC, 0, proto);
	make_whole();
	function.number = 0;
	assert_int_equal(pick("missing", NULL), 0);
	assert_int_equal(function.number, 0);
	add_type("attach", BTF_KIND_FUNC, 0, proto);
	make_whole();
	assert_int_equal(pick("missing", NULL), 0);
	assert_int_equal(function.number, 4);
}

/* A tracepoint is attached to by a type, and a function of the same name is something else. */
CASE(test_tracepoints)
{
	uint32_t number, proto;

	number = add_int("int", 4);
	proto = add_type("", BTF_KIND_FUNC_PROTO, 0, number);
	add_type("attach", BTF_KIND_FUNC, 0, proto);
	make_whole();
	function.number = 0;
	function.is_type = true;
	assert_int_equal(pick("missing", NULL), 0);
	assert_int_equal(function.number, 0);
	add_type("attach", BTF_KIND_TYPEDEF, 0, proto);
	make_whole();
	assert_int_equal(pick("missing", NULL), 0);
	assert_int_equal(function.number, 4);
	function.is_type = false;
}

CASE(test_names)
{
	add_struct("task___old", 0, 1);
	add_struct("task___very_new", 0, 2);
	add_struct("task", 0, 3);
	add_struct("task__", 0, 4);
	add_struct("task____x", 0, 5); /* four: no flavor */
	add_struct("tasks", 0, 6);
	add_struct("___task", 0, 7);
	add_struct("a", 0, 8);
	add_struct("", 0, 9);
	make_whole();
	assert_int_equal(pick("task___mine", NULL), 0);
	assert_string_equal(picked_types(),
			    "1 4 task___old 1\n2 4 task___very_new 2\n3 4 task 3\n");
	assert_int_equal(pick("___task", "a"), 0);
	assert_string_equal(picked_types(), "1 4 ___task 7\n2 4 a 8\n");
	/* An empty name is not a type's. */
	assert_int_equal(pick("", "missing"), 0);
	assert_string_equal(picked_types(), "");
}

TEST(test_names_are_a_set)
{
	struct type_names names = {0};

	type_names_add(&names, "a");
	type_names_add(&names, "a");
	type_names_add(&names, "a___b");
	type_names_add(&names, "");
	assert_int_equal(names.rows.count, 1);
	type_names_release(&names);
}

/* None of these can exist, but each must terminate. */
CASE(test_circles)
{
	uint32_t self;

	self = add_struct("self", 1, 4);
	add_member("itself", self, 0);
	add_type("round", BTF_KIND_TYPEDEF, 0, self + 2);
	add_type("", BTF_KIND_CONST, 0, self + 1);
	make_whole();
	assert_int_equal(pick("self", "round"), 0);
	assert_string_equal(picked_types(), "1 4 self 4 itself:1@0\n2 8 round 3\n3 10  2\n");
}

/* Strings are copied once, however often they occur. */
CASE(test_strings)
{
	const struct types_header *header;
	uint32_t number, name;

	number = add_int("int", 4);
	name = add_text("a");
	add_struct("wanted", 2, 8);
	for (int i = 0; i < 2; i++) {
		add_u32(name);
		add_u32(number);
		add_u32(0);
	}
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	header = (const void *)picked.text;
	assert_int_equal(header->strings_size, sizeof("\0wanted\0a\0int"));
	/* Strings that overlap would become longer than the section. */
	teardown(NULL);
	setup(NULL);
	number = add_int("int", 4);
	name = add_text("abcdefghijklmnopqrstuvwxyz");
	add_struct("wanted", 20, 8);
	for (uint32_t i = 0; i < 20; i++) {
		add_u32(name + i);
		add_u32(number);
		add_u32(0);
	}
	make_whole();
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
	assert_int_equal(picked.size, 0);
}

static void add_something(void)
{
	uint32_t number = add_int("int", 4);

	add_struct("wanted", 1, 4);
	add_member("x", number, 0);
}

/* A good header except for this change. */
#define refuses_header(change) \
	do { \
		struct types_header *header = make_whole(); \
		change; \
		assert_int_equal(pick("wanted", NULL), -ENOEXEC); \
	} while (0)

CASE(test_headers)
{
	add_something();
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	refuses_header(header->magic = 0x9feb);
	refuses_header(header->version = 2);
	refuses_header(header->flags = 1);
	refuses_header(header->header_size = sizeof(*header) - 4);
	refuses_header(header->types_offset = UINT32_MAX);
	refuses_header(header->types_size = header->types_size + header->strings_size + 1);
	refuses_header(header->strings_size++);
	refuses_header(header->strings_size--); /* the last string does not end */
	refuses_header(header->strings_size = 0);
	refuses_header(header->strings_offset++;
		       header->strings_size--); /* the first one is not empty */
	refuses_header(whole.size = sizeof(*header) - 1);
}

/*
 * Puts `size` bytes between the header and the types, which are part of the header then, and
 * `layout` behind all else.
 */
static void lengthen(const void *more, size_t size, const void *layout, size_t layout_size)
{
	struct strbuf longer = {0};

	make_whole()->header_size += (uint32_t)size;
	strbuf_add(&longer, whole.text, sizeof(struct types_header));
	strbuf_add(&longer, more, size);
	strbuf_add(&longer, whole.text + sizeof(struct types_header),
		   whole.size - sizeof(struct types_header));
	strbuf_add(&longer, layout, layout_size);
	strbuf_release(&whole);
	whole = longer;
}

/* lengthen() by the place of a layout section with the sizes of kinds up to 100. */
static void lengthen_by_layout(uint32_t size)
{
	uint8_t layout[101][4] = {{0}};
	const struct types_header *header = make_whole();
	const uint32_t place[] = {header->types_size + header->strings_size, size};

	layout[100][0] = 4;
	layout[100][1] = 8;
	lengthen(place, sizeof(place), layout, sizeof(layout));
}

CASE(test_header_sizes)
{
	static const char zeros[12];

	add_something();
	assert_int_equal(make_whole()->header_size, 24);
	assert_int_equal(pick("wanted", NULL), 0);
	for (size_t more = 4; more <= sizeof(zeros); more += 4) {
		lengthen(zeros, more, NULL, 0);
		assert_int_equal(pick("wanted", NULL), 0);
		assert_string_equal(picked_types(), "1 4 wanted 4 x:2@0\n2 1 int 4\n");
		assert_int_equal(((struct types_header *)picked.text)->header_size, 24);
	}
}

/* A type of a kind that is not known, with two elements and what stands in front of them. */
static void add_later_kind(void)
{
	add_u32(0);
	add_u32(100u << 24 | 2);
	add_u32(0);
	for (int i = 0; i < 5; i++)
		add_u32(UINT32_MAX);
}

CASE(test_later_kinds)
{
	add_later_kind();
	add_type("", BTF_KIND_CONST, 0, 1);
	add_type("refers", BTF_KIND_TYPEDEF, 0, 1);
	add_struct("wanted", 0, 4);
	make_whole();
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
	lengthen_by_layout(404);
	assert_int_equal(pick("wanted", NULL), 0);
	assert_string_equal(picked_types(), "1 4 wanted 4\n");
	/* Nobody knows how to copy one. */
	assert_int_equal(pick("refers", NULL), -ENOEXEC);
	/* The section ends before the kind, or goes on behind the end. */
	lengthen_by_layout(400);
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
	lengthen_by_layout(408);
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
}

/* Counts have 24 bits. */
CASE(test_many_members)
{
	uint32_t number = add_int("int", 4);

	add_type("wanted", BTF_KIND_ENUM, 0x10001, 4);
	for (uint32_t i = 0; i < 0x10001; i++) {
		add_u32(0);
		add_u32(i);
	}
	add_type("last", BTF_KIND_TYPEDEF, 0, number);
	make_whole();
	assert_int_equal(pick("last", NULL), 0);
	assert_string_equal(picked_types(), "1 8 last 2\n2 1 int 4\n");
}

/* A type that is good except for one thing. */
static void refuses(uint32_t name, uint32_t info, uint32_t last)
{
	teardown(NULL);
	setup(NULL);
	add_something();
	add_u32(name == UINT32_MAX ? add_text("wanted") : name);
	add_u32(info);
	add_u32(last);
	make_whole();
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
	assert_int_equal(picked.size, 0);
}

CASE(test_damaged_types)
{
	refuses(0, 20u << 24, 0); /* an unknown kind */
	refuses(0, 0, 0);
	refuses(0, (BTF_KIND_PTR | 0x20) << 24, 0); /* kinds have 7 bits */
	refuses(0, (BTF_KIND_PTR | 0x40) << 24, 0);
	refuses(0, BTF_KIND_STRUCT << 24 | 1, 4); /* without its member */
	refuses(0, BTF_KIND_INT << 24, 4);
	refuses(1000, BTF_KIND_STRUCT << 24, 4); /* a name behind all strings */
	refuses(UINT32_MAX, BTF_KIND_TYPEDEF << 24, 4); /* of a type that does not exist */
	refuses(UINT32_MAX, BTF_KIND_TYPEDEF << 24, UINT32_MAX);
}

CASE(test_functions_as_values)
{
	uint32_t proto;

	proto = add_type("", BTF_KIND_FUNC_PROTO, 0, 0);
	add_struct("wanted", 1, 4);
	add_member("f", proto, 0);
	make_whole();
	assert_int_equal(pick("wanted", NULL), -ENOEXEC);
}

/* Every truncation is refused. */
CASE(test_every_length)
{
	add_something();
	make_whole();
	assert_int_equal(pick("wanted", NULL), 0);
	while (whole.size-- > 1)
		assert_int_equal(pick("wanted", NULL), -ENOEXEC);
}
