/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/objects.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

#define SYMBOLS 20000

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	/* Symbols of one byte each, one after the other, whose names fill several steps. */
	scratch_run(&s,
		    "{ echo .data; for i in $(seq 100000 %d); do "
		    "echo object_that_no_other_file_has_$i: .byte 0; done; "
		    "for size in 100 1000 10000 65000 70000; do "
		    "printf 'x%%0'$size'd: .byte 0\\n' 1; done; } >a.s && "
		    "gcc -shared -nostdlib -o library a.s && strip -o bare library",
		    100000 + SYMBOLS - 1);
	scratch_run(&s, "gcc -shared -nostdlib -Wl,-soname,named -o named a.s");
	/* The same names, exported, by either kind of hash table. */
	scratch_run(
		&s,
		"sed 's/^\\(object_.*\\):/.globl \\1; \\1:/' a.s >e.s && for style in gnu sysv; do "
		"gcc -shared -nostdlib -Wl,--hash-style=$style -o $style e.s && strip $style; "
		"done");
	*state = &s;
	return 0;
}

static struct binary *open_binary(const struct scratch *s, const char *name, int *fd)
{
	struct binary *b;

	*fd = scratch_open(s, name);
	assert_int_equal(binary_open(&b, *fd, NULL), 0);
	return b;
}

static struct binary_object find(const struct binary *b, const char *name)
{
	struct binary_object object = {.name = name};

	binary_find_objects(b, &object, 1);
	return object;
}

TEST(one_object_is_found_wherever_its_name_is)
{
	_cleanup_close_ int fd = -1;
	struct binary *b = open_binary(*state, "library", &fd);
	struct binary_object first = find(b, "object_that_no_other_file_has_100000");

	assert_true(first.is_there);
	for (unsigned int i = 1; i < SYMBOLS; i += 97) {
		char name[64];
		struct binary_object pair[2] = {{.name = name}, {.name = "absent"}}, one;

		snprintf(name, sizeof(name), "object_that_no_other_file_has_%u", 100000 + i);
		one = find(b, name);
		assert_true(one.is_there);
		assert_int_equal(one.vaddr, first.vaddr + i);
		binary_find_objects(b, pair, 2);
		assert_true(pair[0].is_there && !pair[1].is_there);
		assert_int_equal(pair[0].vaddr, one.vaddr);
	}
	binary_free(b);
}

TEST(parts_of_names_are_no_objects)
{
	_cleanup_close_ int fd = -1, bare_fd = -1;
	struct binary *b = open_binary(*state, "library", &fd);
	struct binary *bare = open_binary(*state, "bare", &bare_fd);

	assert_false(find(b, "object_that_no_other_file_has_1000").is_there);
	assert_false(find(b, "that_no_other_file_has_100000").is_there);
	assert_false(find(b, "absent").is_there);
	assert_false(find(bare, "object_that_no_other_file_has_100000").is_there);
	binary_free(bare);
	binary_free(b);
}

TEST(names_may_be_long_but_not_endless)
{
	static const int sizes[] = {100, 1000, 10000, 65000, 70000};
	_cleanup_close_ int fd = -1;
	struct binary *b = open_binary(*state, "library", &fd);

	for (size_t i = 0; i < 5; i++) {
		_cleanup_free_ char *name = xasprintf("x%0*d", sizes[i], 1);

		assert_int_equal(find(b, name).is_there, sizes[i] < 65536);
	}
	binary_free(b);
}

TEST(exported_objects_are_found_by_either_hash_table)
{
	static const char *const files[] = {"gnu", "sysv"};

	for (size_t file = 0; file < 2; file++) {
		_cleanup_close_ int fd = -1;
		struct binary *b = open_binary(*state, files[file], &fd);
		struct binary_object first = {.name = "object_that_no_other_file_has_100000"};

		binary_find_exported(b, &first, 1);
		assert_true(first.is_there);
		for (unsigned int i = 1; i < SYMBOLS; i += file ? 997 : 1) {
			char name[64], absent[64];
			struct binary_object pair[2] = {{.name = name}, {.name = absent}};

			snprintf(name, sizeof(name), "object_that_no_other_file_has_%u",
				 100000 + i);
			snprintf(absent, sizeof(absent), "object_that_no_other_file_has_%u",
				 200000 + i);
			binary_find_exported(b, pair, 2);
			assert_true(pair[0].is_there && !pair[1].is_there);
			assert_int_equal(pair[0].vaddr, first.vaddr + i);
			assert_int_equal(pair[0].size, 0);
		}
		binary_free(b);
	}
}

TEST(a_mark_is_exported_by_libraries_that_have_a_name)
{
	static const char *const files[] = {"library", "gnu", "named"};

	for (size_t i = 0; i < 3; i++) {
		struct binary_object mark = {.name = "object_that_no_other_file_has_100007"};
		_cleanup_close_ int fd = -1;
		struct binary *b = open_binary(*state, files[i], &fd);

		assert_int_equal(binary_has_soname(b), i == 2);
		binary_find_mark(b, &mark);
		assert_int_equal(mark.is_there, i != 2);
		assert_true(find(b, mark.name).is_there);
		binary_free(b);
	}
}

TEST_GROUP(setup, scratch_teardown);
