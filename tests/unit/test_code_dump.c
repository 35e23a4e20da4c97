/* SPDX-License-Identifier: MIT */
/* Machine code in a jitdump: only what a load record holds. */
#include "lib/code/binary/code_dump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/jitdump_bytes.h"
#include "tests/unit/test.h"

#define HEAD 40
/* Size of a load record without code, with a name of one byte. */
#define LOAD (16 + 40 + 2)

static int fd;

static int setup(void **state)
{
	fd = memfd_create("dump", MFD_CLOEXEC);
	return fd < 0;
}

static int teardown(void **state)
{
	return close(fd);
}

static int read_at(uint64_t offset)
{
	struct dumped_code code;
	int ret = code_dump_read(&code, fd, offset, NULL);

	if (!ret) {
		ret = (int)code.size;
		assert_int_equal(code.address, 0x1000);
		assert_int_equal(code.machine, 62);
		for (size_t i = 0; i < code.size; i++)
			assert_int_equal(code.bytes[i], 0);
	} else {
		assert_null(code.bytes);
	}
	free(code.bytes);
	return ret;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(the_code_of_a_load_record)
{
	jitdump_write_header(fd, 0, 0);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	jitdump_write_load(fd, 6, 0x1000, 0x30, 2, "b");
	assert_int_equal(read_at(HEAD), 0x20);
	assert_int_equal(read_at(HEAD + LOAD + 0x20), 0x30);
}

CASE(nothing_else)
{
	assert_int_equal(read_at(0), -EBADMSG);
	jitdump_write_header(fd, 0, 0);
	assert_int_equal(read_at(HEAD), -EBADMSG);
	jitdump_write_move(fd, 5, 0x1000, 0x2000, 0x20, 1);
	assert_int_equal(read_at(HEAD), -EBADMSG);
	assert_int_equal(read_at(1 << 20), -EBADMSG);
	assert_int_equal(read_at(UINT64_MAX), -EBADMSG);
}

/* The record says more than it has. */
CASE(no_further_than_the_record)
{
	jitdump_write_header(fd, 0, 0);
	jitdump_write_load(fd, 5, 0x1000, 1 << 20, 1, "a");
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "b");
	assert_int_equal(read_at(HEAD), -EBADMSG);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 1), 0);
	assert_int_equal(read_at(HEAD + LOAD + 4096), -EBADMSG);
}

/* Process and time: the next dump of the same name has another id. */
TEST(the_id_is_that_of_the_process)
{
	uint8_t data[CODE_DUMP_HEAD_SIZE] = {'D', 'T', 'i', 'J', 1, 0, 0, 0, 40};
	struct code_dump_head one, two;

	assert_true(code_dump_head_parse(&one, data));
	for (size_t i = 12; i < 32; i++) {
		data[i] ^= 1;
		assert_true(code_dump_head_parse(&two, data));
		/* Leaves out the field between: nobody knows what it means. */
		if (i < 16 || i >= 20)
			assert_memory_not_equal(one.id, two.id, sizeof(one.id));
		data[i] ^= 1;
	}
	data[0] = 'x';
	assert_false(code_dump_head_parse(&one, data));
}
