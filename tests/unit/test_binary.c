/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/binary/binary.h"

/* The smallest file with everything that is read: two PT_LOADs and a note with a build id. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t desc[20];
	} note;
};

static struct image make_image(void)
{
	struct image image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			   .e_machine = EM_X86_64,
			   .e_phoff = offsetof(struct image, segments),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 3},
		.segments = {{.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = 0x800},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = 0x800,
			      .p_vaddr = 0x401800,
			      .p_filesz = 0x123},
			     {.p_type = PT_NOTE,
			      .p_offset = offsetof(struct image, note),
			      .p_filesz = sizeof(image.note),
			      .p_align = 4}},
		.note = {.header = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID},
			 .name = "GNU"},
	};

	for (int i = 0; i < 20; i++)
		image.note.desc[i] = (uint8_t)(0xa0 + i);
	return image;
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static int summarize(const void *data, size_t size, struct binary_summary *summary)
{
	_cleanup_close_ int fd = file_of(data, size);
	struct error err = {0};
	int ret = binary_summarize(fd, summary, &err);

	assert_int_equal(ret, err.code);
	return ret;
}

static void segments_and_build_id(void **state)
{
	struct image image = make_image();
	struct binary_summary s;
	char text[2 * BUILD_ID_MAX + 1];

	(void)state;
	assert_int_equal(summarize(&image, sizeof(image), &s), 0);
	assert_true(s.is_64bit);
	assert_int_equal(s.machine, EM_X86_64);
	assert_int_equal(s.segment_count, 2);
	assert_false(s.segments[0].executable);
	assert_int_equal(s.segments[0].vaddr, 0x400000);
	assert_true(s.segments[1].executable);
	assert_int_equal(s.segments[1].file_offset, 0x800);
	assert_int_equal(s.segments[1].vaddr, 0x401800);
	assert_int_equal(s.segments[1].file_size, 0x123);
	build_id_to_text(s.build_id, s.build_id_size, text);
	assert_string_equal(text, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
	binary_summary_release(&s);
	assert_null(s.segments);
}

static void class_32(void **state)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
	} image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB},
			   .e_machine = EM_386,
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_offset = 0x1000,
			    .p_vaddr = 0x8049000,
			    .p_filesz = 0x10,
			    .p_flags = PF_X},
	};
	struct binary_summary s;

	(void)state;
	assert_int_equal(summarize(&image, sizeof(image), &s), 0);
	assert_false(s.is_64bit);
	assert_int_equal(s.segment_count, 1);
	assert_int_equal(s.segments[0].file_offset, 0x1000);
	assert_int_equal(s.segments[0].vaddr, 0x8049000);
	assert_true(s.segments[0].executable);
	binary_summary_release(&s);
}

static void rubbish_is_refused(void **state)
{
	struct image image = make_image();
	struct binary_summary s;

	(void)state;
	assert_int_equal(summarize("", 0, &s), -ENOEXEC);
	assert_int_equal(summarize("#!/bin/sh\nexit 0\n", 17, &s), -ENOEXEC);
	assert_int_equal(summarize(&image, 20, &s), -ENOEXEC);
	image.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(summarize(&image, sizeof(image), &s), -ENOEXEC);
	image = make_image();
	image.header.e_phentsize = 8;
	assert_int_equal(summarize(&image, sizeof(image), &s), -ENOEXEC);
	assert_int_equal(s.segment_count, 0);
}

static void truncated_tables_give_what_is_there(void **state)
{
	struct image image = make_image();
	struct binary_summary s;

	(void)state;
	assert_int_equal(summarize(&image, offsetof(struct image, segments[2]) - 1, &s), 0);
	assert_int_equal(s.segment_count, 1);
	assert_int_equal(s.build_id_size, 0);
	binary_summary_release(&s);
	image.header.e_phoff = UINT64_MAX - 4;
	summarize(&image, sizeof(image), &s);
	assert_int_equal(s.segment_count, 0);
	binary_summary_release(&s);
}

static void build_ids_of_other_sizes(void **state)
{
	struct image image = make_image();
	struct binary_summary s;

	(void)state;
	image.note.header.n_descsz = 8;
	assert_int_equal(summarize(&image, sizeof(image), &s), 0);
	assert_int_equal(s.build_id_size, 8);
	binary_summary_release(&s);
	image.note.header.n_descsz = 0xffffffff;
	assert_int_equal(summarize(&image, sizeof(image), &s), 0);
	assert_int_equal(s.build_id_size, 0);
	assert_int_equal(s.segment_count, 2);
	binary_summary_release(&s);
}

static void own_program(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct binary_summary s;
	size_t executable = 0;

	(void)state;
	assert_int_equal(binary_summarize(fd, &s, NULL), 0);
	for (size_t i = 0; i < s.segment_count; i++)
		executable += s.segments[i].executable;
	assert_int_equal(executable, 1);
	assert_true(s.segment_count >= 2);
	binary_summary_release(&s);
}

static void text_of_an_overlong_id_is_cut(void **state)
{
	uint8_t id[64] = {0};
	char text[2 * BUILD_ID_MAX + 1];

	(void)state;
	build_id_to_text(id, sizeof(id), text);
	assert_int_equal(strlen(text), 2 * BUILD_ID_MAX);
	build_id_to_text(id, 0, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_and_build_id),
		cmocka_unit_test(class_32),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(truncated_tables_give_what_is_there),
		cmocka_unit_test(build_ids_of_other_sizes),
		cmocka_unit_test(own_program),
		cmocka_unit_test(text_of_an_overlong_id_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
