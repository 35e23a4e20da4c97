/* SPDX-License-Identifier: MIT */
/* The table of static keys among other read-only data. */
#include "symbolize/kernel/patched_code.h"
#include "tests/unit/test.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE 0x10000ull
#define DATA 0x20000ull
#define SIZE 4096
#define KEYS 20

static uint8_t code[SIZE], data[SIZE];
static struct binary_segment segments[] = {
	{.file_offset = 0, .file_size = SIZE, .vaddr = CODE, .executable = true},
	{.file_offset = SIZE, .file_size = SIZE, .vaddr = DATA},
};
static struct binary_summary summary = {
	.machine = EM_X86_64,
	.segments = segments,
	.segment_count = 2,
};
static struct jump_table table;

static void put(size_t at, uint64_t from, uint64_t to, uint64_t key)
{
	uint64_t vaddr = DATA + at;
	int32_t distances[] = {(int32_t)(from - vaddr), (int32_t)(to - vaddr - 4)};
	int64_t distance = (int64_t)(key - vaddr - 8);

	memcpy(data + at, distances, sizeof(distances));
	memcpy(data + at + 8, &distance, sizeof(distance));
}

/* A table of `count` entries that begins at `at`. */
static void put_table(size_t at, size_t count)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};

	memset(code, 0xcc, sizeof(code));
	memset(data, 0x11, sizeof(data));
	for (size_t i = 0; i < count; i++) {
		memcpy(code + 16 * i, nop, sizeof(nop));
		put(at + 16 * i, CODE + 16 * i, CODE + 16 * i + 8, DATA + 8 * i + (i & 1));
	}
}

static size_t find(void)
{
	int fd = memfd_create("kernel", MFD_CLOEXEC);

	assert_int_equal(write(fd, code, SIZE), SIZE);
	assert_int_equal(write(fd, data, SIZE), SIZE);
	table.places.count = 0;
	jump_table_find(&table, fd, &summary, data, SIZE, DATA);
	close(fd);
	return table.places.count;
}

TEST(jumps_and_no_operations)
{
	put_table(1000, KEYS);
	code[16] = 0xeb;
	code[32] = 0xe9;
	code[48] = 0x66;
	code[49] = 0x90;
	assert_int_equal(find(), KEYS);
	for (size_t i = 0; i < KEYS; i++) {
		assert_int_equal(table.places.items[i].vaddr, CODE + 16 * i);
		assert_int_equal(table.places.items[i].size, i == 1 || i == 3 ? 2 : 5);
	}
	/* At the end of the section. */
	put_table(SIZE - 16 * KEYS, KEYS);
	assert_int_equal(find(), KEYS);
	summary.machine = EM_386;
	assert_int_equal(find(), 0);
	summary.machine = EM_X86_64;
}

TEST(the_words_of_arm64)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5}, jump[] = {0x02, 0, 0, 0x14};

	put_table(0, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		memcpy(code + 16 * i, i % 2 ? nop : jump, 4);
	summary.machine = EM_AARCH64;
	assert_int_equal(find(), KEYS);
	assert_int_equal(table.places.items[0].size, 4);
	summary.machine = EM_X86_64;
}

TEST(what_only_looks_like_it)
{
	memset(data, 0, sizeof(data));
	assert_int_equal(find(), 0);
	put_table(0, 3);
	assert_int_equal(find(), 0);
	put_table(0, KEYS);
	/* Another instruction ends one run, and a key out of nowhere the next. */
	code[16 * 6] = 0xc3;
	put(16 * 13, CODE + 16 * 13, CODE, 0);
	assert_int_equal(find(), 0);
	put_table(0, KEYS);
	put(16 * 8, CODE + 16 * 8, DATA, DATA);
	assert_int_equal(find(), KEYS - 1);
}

static int release(void **state)
{
	jump_table_release(&table);
	return 0;
}

TEST_GROUP(NULL, release);
