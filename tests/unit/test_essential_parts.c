/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/essential_parts.h"
#include "tests/unit/test.h"

static int open_own(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

static bool has_section(int fd, const char *name)
{
	struct binary *b;
	bool has;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	has = binary_has_section(b, name);
	binary_free(b);
	return has;
}

/* Copies the parts, as a reader of a capture does. */
static int copy_parts(int fd, const struct essential_parts *parts)
{
	int copy = memfd_create("copy", MFD_CLOEXEC);

	vec_for_each(&parts->rows, const struct essential_part *, part) {
		uint8_t byte[4096];

		for (uint64_t at = 0; at < part->size; at += sizeof(byte)) {
			size_t size = part->size - at < sizeof(byte) ? part->size - at
								     : sizeof(byte);

			assert_int_equal(pread(fd, byte, size, (off_t)(part->offset + at)), size);
			assert_int_equal(pwrite(copy, byte, size, (off_t)(part->offset + at)),
					 size);
		}
	}
	assert_int_equal(
		pwrite(copy, parts->sections, parts->sections_size, (off_t)parts->sections_offset),
		parts->sections_size);
	return copy;
}

TEST(names_are_in_the_parts)
{
	_cleanup_close_ int fd = open_own(), copy = -1;
	struct essential_parts parts;

	assert_int_equal(essential_parts_find(&parts, fd, UINT64_MAX), 0);
	assert_true(parts.bytes < size_of(fd));
	copy = copy_parts(fd, &parts);
	essential_parts_release(&parts);
	assert_true(has_section(copy, ".symtab"));
	assert_true(has_section(copy, ".debug_info"));
	assert_true(has_section(copy, ".eh_frame"));
	assert_true(has_section(fd, ".text"));
	assert_false(has_section(copy, ".text"));
}

/* Debug information goes first. */
TEST(the_limit_is_kept)
{
	_cleanup_close_ int fd = open_own(), copy = -1;
	struct essential_parts all, some;

	assert_int_equal(essential_parts_find(&all, fd, UINT64_MAX), 0);
	assert_int_equal(essential_parts_find(&some, fd, all.bytes - 1), 0);
	assert_true(some.bytes < all.bytes);
	copy = copy_parts(fd, &some);
	assert_true(has_section(copy, ".symtab"));
	assert_false(has_section(copy, ".debug_info"));
	essential_parts_release(&all);
	assert_int_equal(essential_parts_find(&all, fd, some.bytes - 1), -EFBIG);
	essential_parts_release(&all);
	essential_parts_release(&some);
}

/* Bounds the parts, whatever the bytes. */
TEST(damage_is_bounded)
{
	_cleanup_close_ int own = open_own(), fd = memfd_create("damaged", MFD_CLOEXEC);
	static uint8_t bytes[1 << 16];
	ssize_t size = pread(own, bytes, sizeof(bytes), 0);
	struct essential_parts parts;
	uint64_t table = sizeof(Elf64_Ehdr);

	assert_int_equal(essential_parts_find(&parts, fd, 1000), -ENOEXEC);
	memcpy(bytes + offsetof(Elf64_Ehdr, e_shoff), &table, sizeof(table));
	for (size_t i = 0; i < 64; i++) {
		for (unsigned int value = 0; value < 256; value += 51) {
			uint8_t before = bytes[i];

			bytes[i] = (uint8_t)value;
			assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
			bytes[i] = before;
			if (!essential_parts_find(&parts, fd, 1 << 20))
				assert_true(parts.bytes <= 8 << 20);
			essential_parts_release(&parts);
		}
	}
}
