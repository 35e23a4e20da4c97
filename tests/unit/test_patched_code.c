/* SPDX-License-Identifier: MIT */
/* Places that the kernel changes: those that lie in an instruction, and by what it calls. */
#include <stdio.h>
#include <string.h>

#include "symbolize/kernel/patched_code.h"
#include "tests/unit/test.h"

TEST(test_find)
{
	static const struct patched_place places[] = {
		{0x100, 8, "one"}, {0x104, 1, "two"}, {0x200, 1, "three"}};
	struct patched_code p = {0};

	for (size_t i = 0; i < 3; i++)
		vec_push(&p.places, places[i]);
	assert_null(patched_code_find(&p, 0xff, 1, NULL));
	assert_string_equal(patched_code_find(&p, 0xff, 2, NULL), "one");
	assert_string_equal(patched_code_find(&p, 0x107, 1, NULL), "one");
	assert_null(patched_code_find(&p, 0x108, 0xf8, NULL));
	assert_string_equal(patched_code_find(&p, 0x1fe, 3, NULL), "three");
	assert_null(patched_code_find(&p, 0x201, 5, NULL));
	assert_null(patched_code_find(&p, UINT64_MAX, 1, NULL));
	patched_code_release(&p);
}

TEST(test_callees)
{
	const struct patched_code none = {0};

	assert_string_equal(patched_code_find(&none, 1, 5, "__SCT__might_resched"), "static call");
	assert_string_equal(patched_code_find(&none, 1, 5, "__fentry__"), "ftrace");
	assert_null(patched_code_find(&none, 1, 5, "schedule"));
}

/* A file that is none has no such places. */
TEST(test_no_file)
{
	struct patched_code p;
	FILE *file = tmpfile();

	fputs("no ELF", file);
	fflush(file);
	patched_code_read(&p, fileno(file));
	assert_int_equal(p.places.count, 0);
	patched_code_read(&p, -1);
	assert_int_equal(p.places.count, 0);
	fclose(file);
}
