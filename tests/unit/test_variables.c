/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/variables.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

/* A variable of this program, in .symtab alone. */
struct three_words {
	uint64_t words[3];
};
struct three_words variables_mark = {{1, 2, 3}};
/* Constants, in memory that is writable until the program runs and in memory that never is. */
__attribute__((used)) const void *const relocated_mark[3] = {&variables_mark};
__attribute__((used)) const struct three_words constant_mark = {{4, 5, 6}};

static struct variables read_own(const char *name, uint64_t size)
{
	struct variables v = {0};
	int fd = own_fd();

	variables_read(&v, fd, name, size);
	close(fd);
	return v;
}

/* The bias follows from the place of any mapped code. */
TEST(a_variable_and_its_address)
{
	struct variables v = read_own("variables_mark", sizeof(variables_mark));
	uint64_t code = (uintptr_t)own_outer & ~4095ull, bias;
	uint64_t file_offset = own_file_offset((const void *)(uintptr_t)own_outer);

	file_offset -= (uintptr_t)own_outer - code;
	assert_true(variables_find_bias(&v, code, file_offset, &bias));
	assert_int_equal(v.vaddr + bias, (uintptr_t)&variables_mark);
	assert_false(variables_find_bias(&v, code, 1ull << 40, &bias));
	variables_release(&v);
}

/* All variables are in the writable segments. */
TEST(the_memory_of_variables)
{
	struct variables v = read_own("variables_mark", sizeof(variables_mark));
	unsigned int count = 0;

	vec_for_each(&v.segments, const struct variable_segment *, segment)
		count += segment->writable && v.vaddr >= segment->vaddr &&
			 v.vaddr - segment->vaddr < segment->size;
	assert_int_equal(count, 1);
	variables_release(&v);
}

TEST(no_such_variable)
{
	struct variables v = read_own("variables_mark", 8);

	assert_true(v.segments.count > 0);
	assert_int_equal(v.vaddr, 0);
	variables_release(&v);
	v = read_own("constant_mark", sizeof(constant_mark));
	assert_int_equal(v.vaddr, 0);
	variables_release(&v);
	v = read_own("relocated_mark", sizeof(relocated_mark));
	assert_int_equal(v.vaddr, 0);
	variables_release(&v);
	v = read_own("variables_", sizeof(variables_mark));
	assert_int_equal(v.vaddr, 0);
	variables_release(&v);
}

TEST(a_file_that_is_no_program)
{
	struct variables v = {0};
	FILE *file = tmpfile();

	fputs("text", file);
	fflush(file);
	variables_read(&v, fileno(file), "variables_mark", 8);
	variables_read(&v, -1, "variables_mark", 8);
	assert_int_equal(v.segments.count, 0);
	fclose(file);
}
