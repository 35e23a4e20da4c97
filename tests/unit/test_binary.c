/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "tests/unit/test.h"

/*
 * The smallest file with everything that the reader needs: two PT_LOADs and a note with a build id.
 */
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

TEST(segments_and_build_id)
{
	struct image image = make_image();
	struct binary_summary s;
	char text[2 * BUILD_ID_MAX + 1];

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

TEST(class_32)
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

	assert_int_equal(summarize(&image, sizeof(image), &s), 0);
	assert_false(s.is_64bit);
	assert_int_equal(s.segment_count, 1);
	assert_int_equal(s.segments[0].file_offset, 0x1000);
	assert_int_equal(s.segments[0].vaddr, 0x8049000);
	assert_true(s.segments[0].executable);
	binary_summary_release(&s);
}

TEST(rubbish_is_refused)
{
	struct image image = make_image();
	struct binary_summary s;

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

TEST(truncated_tables_give_what_is_there)
{
	struct image image = make_image();
	struct binary_summary s;

	assert_int_equal(summarize(&image, offsetof(struct image, segments[2]) - 1, &s), 0);
	assert_int_equal(s.segment_count, 1);
	assert_int_equal(s.build_id_size, 0);
	binary_summary_release(&s);
	image.header.e_phoff = UINT64_MAX - 4;
	summarize(&image, sizeof(image), &s);
	assert_int_equal(s.segment_count, 0);
	binary_summary_release(&s);
}

TEST(build_ids_of_other_sizes)
{
	struct image image = make_image();
	struct binary_summary s;

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

/* Layout of Go's linker: its own note is in a segment, GNU's only in a section. */
struct go_image {
	struct image image;
	struct {
		Elf64_Nhdr header;
		char name[4];
		char desc[84];
	} go;
	Elf64_Shdr sections[2];
};

static struct go_image make_go_image(void)
{
	struct go_image go = {
		.image = make_image(),
		.go = {.header = {.n_namesz = 4, .n_descsz = 83, .n_type = 4},
		       .name = "Go",
		       .desc = "m-zAN9r18OMFsyCYjo00/Jou61vh6bgu7GWjzjp_3/"
			       "o79E7kUgGyvEMD3rFqeJ/5Ii0WsZxTU_clPi-TMJC"},
		.sections = {{.sh_type = SHT_NULL},
			     {.sh_type = SHT_NOTE,
			      .sh_offset = offsetof(struct image, note),
			      .sh_size = sizeof(go.image.note),
			      .sh_addralign = 4}},
	};

	go.image.segments[2].p_offset = offsetof(struct go_image, go);
	go.image.segments[2].p_filesz = sizeof(go.go);
	go.image.header.e_version = go.image.header.e_ident[EI_VERSION] = EV_CURRENT;
	go.image.header.e_ehsize = sizeof(Elf64_Ehdr);
	go.image.header.e_shoff = offsetof(struct go_image, sections);
	go.image.header.e_shentsize = sizeof(Elf64_Shdr);
	go.image.header.e_shnum = 2;
	return go;
}

/* Reads the file in both ways. */
static void expect_id(const struct go_image *go, uint8_t id[BUILD_ID_MAX])
{
	_cleanup_close_ int fd = file_of(go, sizeof(*go));
	struct binary_summary s;
	uint8_t other[BUILD_ID_MAX];
	struct binary *b;

	assert_int_equal(binary_summarize(fd, &s, NULL), 0);
	assert_int_equal(s.build_id_size, BUILD_ID_MAX);
	assert_int_equal(binary_open(&b, fd, NULL), 0);
	assert_int_equal(binary_build_id(b, other), BUILD_ID_MAX);
	assert_memory_equal(s.build_id, other, BUILD_ID_MAX);
	memcpy(id, s.build_id, BUILD_ID_MAX);
	binary_free(b);
	binary_summary_release(&s);
}

TEST(build_ids_of_go)
{
	struct go_image go = make_go_image();
	uint8_t gnu[BUILD_ID_MAX], first[BUILD_ID_MAX], second[BUILD_ID_MAX];
	struct binary_summary s;

	expect_id(&go, gnu);
	assert_memory_equal(gnu, go.image.note.desc, BUILD_ID_MAX);
	/* Older linkers write only their own note, which differs in each build. */
	go.sections[1].sh_type = SHT_PROGBITS;
	expect_id(&go, first);
	assert_memory_not_equal(first, gnu, BUILD_ID_MAX);
	go.go.desc[82]++;
	expect_id(&go, second);
	assert_memory_not_equal(first, second, BUILD_ID_MAX);
	/* Damage. */
	go.sections[1].sh_type = SHT_NOTE;
	go.sections[1].sh_offset = UINT64_MAX - 3;
	go.sections[1].sh_size = UINT64_MAX;
	assert_int_equal(summarize(&go, sizeof(go), &s), 0);
	assert_memory_equal(s.build_id, second, BUILD_ID_MAX);
	binary_summary_release(&s);
	go.image.header.e_shoff = UINT64_MAX - 70;
	assert_int_equal(summarize(&go, sizeof(go), &s), 0);
	assert_memory_equal(s.build_id, second, BUILD_ID_MAX);
	binary_summary_release(&s);
	go.image.header.e_shentsize = 8;
	assert_int_equal(summarize(&go, sizeof(go), &s), 0);
	binary_summary_release(&s);
}

TEST(own_program)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct binary_summary s;
	size_t executable = 0;

	assert_int_equal(binary_summarize(fd, &s, NULL), 0);
	for (size_t i = 0; i < s.segment_count; i++)
		executable += s.segments[i].executable;
	assert_int_equal(executable, 1);
	assert_true(s.segment_count >= 2);
	binary_summary_release(&s);
}

TEST(text_of_an_overlong_id_is_cut)
{
	uint8_t id[64] = {0};
	char text[2 * BUILD_ID_MAX + 1];

	build_id_to_text(id, sizeof(id), text);
	assert_int_equal(strlen(text), 2 * BUILD_ID_MAX);
	build_id_to_text(id, 0, text);
	assert_string_equal(text, "");
}

#define ROWS 60000
#define ROW_SIZE 13 /* a prime: no power of two is a multiple of it */

struct seen_rows {
	bool rows[ROWS];
	uint32_t pieces, limit;
};

static bool see_rows(void *ctx, const uint8_t *data, size_t size)
{
	struct seen_rows *seen = ctx;
	const uint8_t *end = data + size;

	for (const uint8_t *at = data; (at = memmem(at, (size_t)(end - at), "row ", 4)); at++) {
		if (end - at >= ROW_SIZE)
			seen->rows[strtoul((const char *)at + 4, NULL, 10)] = true;
	}
	return ++seen->pieces < seen->limit;
}

TEST(sections_are_searched_in_pieces)
{
	static const char names[] = "\0.text\0.strings";
	static struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		char names[sizeof(names)];
		char rows[ROWS * ROW_SIZE + 1];
	} image;
	static struct seen_rows seen;
	const uint64_t size = sizeof(image.rows) - 1;
	struct binary *b;

	image.header = make_image().header;
	image.header.e_version = image.header.e_ident[EI_VERSION] = EV_CURRENT;
	image.header.e_ehsize = sizeof(Elf64_Ehdr);
	image.header.e_phoff = image.header.e_phnum = 0;
	image.header.e_shoff = offsetof(typeof(image), sections);
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	image.header.e_shnum = 3;
	image.header.e_shstrndx = 2;
	memcpy(image.names, names, sizeof(names));
	image.sections[1] = (Elf64_Shdr){.sh_name = 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_offset = offsetof(typeof(image), rows),
					 .sh_size = size};
	image.sections[2] = (Elf64_Shdr){.sh_name = 7,
					 .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(typeof(image), names),
					 .sh_size = sizeof(names)};
	for (unsigned int i = 0; i < ROWS; i++)
		snprintf(image.rows + i * ROW_SIZE, ROW_SIZE + 1, "row %08u;", i);

	_cleanup_close_ int fd = file_of(&image, sizeof(image));
	assert_int_equal(binary_open(&b, fd, NULL), 0);
	assert_false(binary_search_section(b, ".rodata", size, see_rows, &seen));
	assert_false(binary_search_section(b, ".text", size - 1, see_rows, &seen));
	assert_int_equal(seen.pieces, 0);
	seen.limit = 1;
	assert_true(binary_search_section(b, ".text", size, see_rows, &seen));
	assert_int_equal(seen.pieces, 1);
	assert_false(seen.rows[ROWS - 1]);
	seen.limit = UINT32_MAX;
	assert_true(binary_search_section(b, ".text", size, see_rows, &seen));
	assert_true(seen.pieces > 3);
	for (size_t i = 0; i < ROWS; i++)
		assert_true(seen.rows[i]);
	/* The file has been cut off since. */
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(image) - size / 2)), 0);
	assert_false(binary_search_section(b, ".text", size, see_rows, &seen));
	binary_free(b);
}
