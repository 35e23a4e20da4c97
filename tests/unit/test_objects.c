/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "lib/base/cleanup.h"
#include "lib/binary/binary.h"
#include "lib/binary/objects.h"
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
		    "echo object_that_no_other_file_has_$i: .byte 0; done; } >a.s && "
		    "gcc -shared -nostdlib -o library a.s && strip -o bare library",
		    100000 + SYMBOLS - 1);
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

TEST_GROUP(setup, scratch_teardown);
