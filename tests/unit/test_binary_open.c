/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"

#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

#define SEED "tests/fuzz/corpus/dwarf/scopes-gcc-dwarf5"

struct opened {
	int fd;
	struct binary *binary;
};

static struct opened open_path(const char *path)
{
	struct opened o = {.fd = open(path, O_RDONLY | O_CLOEXEC)};

	assert_true(o.fd >= 0);
	assert_int_equal(binary_open(&o.binary, o.fd, NULL), 0);
	return o;
}

static void opened_close(struct opened *o)
{
	binary_free(o->binary);
	close(o->fd);
}

TEST(facts_about_a_file)
{
	struct opened o = open_path(SEED);
	struct binary_summary summary;
	uint8_t build_id[BUILD_ID_MAX];

	assert_int_equal(binary_summarize(o.fd, &summary, NULL), 0);
	assert_int_equal(binary_first_vaddr(o.binary), 0x400000);
	assert_int_equal(summary.machine, EM_X86_64);
	assert_int_equal(binary_build_id(o.binary, build_id), 20);
	assert_memory_equal(build_id, summary.build_id, 20);
	assert_true(binary_has_section(o.binary, ".debug_info"));
	assert_false(binary_has_section(o.binary, ".debug_inf"));
	binary_summary_release(&summary);
	opened_close(&o);
}

/* Reads the whole of a small file. */
static size_t read_file(const char *path, char *data, size_t room)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, data, room);

	assert_true(size > 0 && size < (ssize_t)room);
	return (size_t)size;
}

TEST(build_id_of_a_file_without_sections)
{
	struct opened o = open_path("tests/fuzz/corpus/elf_symbols/symbols");
	_cleanup_close_ int copy = memfd_create("copy", MFD_CLOEXEC);
	uint8_t by_section[BUILD_ID_MAX], by_segment[BUILD_ID_MAX];
	char data[16384];
	size_t size = read_file("tests/fuzz/corpus/elf_symbols/symbols", data, sizeof(data));
	struct binary *b;

	assert_int_equal(binary_build_id(o.binary, by_section), 20);
	memset(data + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
	memset(data + offsetof(Elf64_Ehdr, e_shnum), 0, 2 * sizeof(Elf64_Half));
	assert_int_equal(write(copy, data, size), size);
	assert_int_equal(binary_open(&b, copy, NULL), 0);
	assert_int_equal(binary_build_id(b, by_segment), 20);
	assert_memory_equal(by_section, by_segment, 20);
	binary_free(b);
	opened_close(&o);
}

TEST(what_is_no_regular_elf_file_is_refused)
{
	_cleanup_close_ int text = memfd_create("text", MFD_CLOEXEC);
	_cleanup_close_ int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct binary *b;
	int ends[2];

	assert_int_equal(write(text, "!<arch>\n", 8), 8);
	assert_int_equal(binary_open(&b, text, NULL), -ENOEXEC);
	assert_int_equal(binary_open(&b, dir, NULL), -ENOEXEC);
	assert_int_equal(binary_open(&b, -1, NULL), -EBADF);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(binary_open(&b, ends[0], NULL), -ENOEXEC);
	close(ends[0]);
	close(ends[1]);
	binary_free(NULL);
}

/* The seed, with its last section name running to the end of the table. */
TEST(unterminated_section_names_are_refused)
{
	_cleanup_close_ int copy = memfd_create("copy", MFD_CLOEXEC);
	char data[16384];
	size_t size = read_file(SEED, data, sizeof(data));
	Elf64_Ehdr header;
	Elf64_Shdr names;
	struct binary *b;

	memcpy(&header, data, sizeof(header));
	memcpy(&names, data + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
	data[names.sh_offset + names.sh_size - 1] = 'x';
	assert_int_equal(write(copy, data, size), size);
	assert_int_equal(binary_open(&b, copy, NULL), -ENOEXEC);
}

/* Its owner may do that at any time: what is read then is less, and nothing else. */
TEST(a_file_that_is_truncated_is_survived)
{
	struct binary_symbols symbols = {0};
	struct scratch s;
	struct opened o;

	scratch_init(&s);
	scratch_run(&s, "cp $SRC/tests/fuzz/corpus/elf_symbols/symbols file && chmod 644 file");
	o.fd = scratch_open(&s, "file");
	assert_int_equal(binary_open(&o.binary, o.fd, NULL), 0);
	scratch_run(&s, ": >file");
	binary_add_symbols(o.binary, NULL, &symbols);
	assert_int_equal(symbols.rows.count, 0);
	vec_release(&symbols.rows);
	opened_close(&o);
	scratch_release(&s);
}
