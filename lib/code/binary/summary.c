/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/binary.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"
#include "lib/code/binary/build_id.h"

#define MAX_SEGMENTS 1024
/* Real note segments have some hundred bytes; a forged size must not make us read a whole file. */
#define MAX_NOTE_BYTES 65536
#define MAX_NOTE_SEGMENTS 16
#define MAX_SECTIONS 4096

struct elf_header {
	bool is_64bit;
	uint16_t machine, phentsize, shentsize, shnum;
	uint32_t phnum;
	uint64_t phoff, shoff;
};

struct section_header {
	uint32_t type;
	uint64_t offset, size, align;
};

struct program_header {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_size, align;
};

static int read_header(int fd, struct elf_header *header, struct error *err)
{
	uint8_t raw[sizeof(Elf64_Ehdr)] = {0};
	ssize_t n = read_at(fd, raw, sizeof(raw), 0);
	struct bytes b;

	if (n < 0)
		return error_set(err, (int)n, "read ELF header");
	if ((size_t)n < sizeof(Elf32_Ehdr) || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return error_text(err, -ENOEXEC, "not an ELF file");
	if (raw[EI_DATA] != ELFDATA2LSB || raw[EI_CLASS] < ELFCLASS32 || raw[EI_CLASS] > ELFCLASS64)
		return error_text(err, -ENOEXEC, "an ELF file with another byte order or class");
	*header = (struct elf_header){.is_64bit = raw[EI_CLASS] == ELFCLASS64};
	bytes_init(&b, raw, (size_t)n);
	bytes_skip(&b, EI_NIDENT + 2);
	header->machine = bytes_u16(&b);
	bytes_skip(&b, 4);
	if (header->is_64bit) {
		bytes_skip(&b, 8);
		header->phoff = bytes_u64(&b);
		header->shoff = bytes_u64(&b);
	} else {
		bytes_skip(&b, 4);
		header->phoff = bytes_u32(&b);
		header->shoff = bytes_u32(&b);
	}
	bytes_skip(&b, 6);
	header->phentsize = bytes_u16(&b);
	header->phnum = bytes_u16(&b);
	header->shentsize = bytes_u16(&b);
	header->shnum = bytes_u16(&b);
	return b.failed ? error_text(err, -ENOEXEC, "truncated ELF header") : 0;
}

/* The first section header's sh_info has the count of more than 65,534 program headers. */
static uint32_t extended_phnum(int fd, const struct elf_header *header)
{
	uint8_t raw[sizeof(Elf64_Shdr)];
	size_t size = header->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	size_t at = header->is_64bit ? offsetof(Elf64_Shdr, sh_info)
				     : offsetof(Elf32_Shdr, sh_info);
	struct bytes b;

	if (read_at(fd, raw, size, header->shoff) != (ssize_t)size)
		return 0;
	bytes_init(&b, raw + at, sizeof(uint32_t));
	return bytes_u32(&b);
}

static struct program_header parse_program_header(struct bytes b, bool is_64bit)
{
	struct program_header ph = {.type = bytes_u32(&b)};

	if (is_64bit) {
		ph.flags = bytes_u32(&b);
		ph.offset = bytes_u64(&b);
		ph.vaddr = bytes_u64(&b);
		bytes_skip(&b, 8);
		ph.file_size = bytes_u64(&b);
		bytes_skip(&b, 8);
		ph.align = bytes_u64(&b);
	} else {
		ph.offset = bytes_u32(&b);
		ph.vaddr = bytes_u32(&b);
		bytes_skip(&b, 4);
		ph.file_size = bytes_u32(&b);
		bytes_skip(&b, 4);
		ph.flags = bytes_u32(&b);
		ph.align = bytes_u32(&b);
	}
	return ph;
}

static struct section_header parse_section_header(const uint8_t *raw, bool is_64bit)
{
	struct section_header sh;
	struct bytes b;

	bytes_init(&b, raw, is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	bytes_skip(&b, 4);
	sh.type = bytes_u32(&b);
	if (is_64bit) {
		bytes_skip(&b, 16);
		sh.offset = bytes_u64(&b);
		sh.size = bytes_u64(&b);
		bytes_skip(&b, 8);
		sh.align = bytes_u64(&b);
	} else {
		bytes_skip(&b, 8);
		sh.offset = bytes_u32(&b);
		sh.size = bytes_u32(&b);
		bytes_skip(&b, 8);
		sh.align = bytes_u32(&b);
	}
	return sh;
}

static void read_notes(int fd, uint64_t offset, uint64_t file_size, uint64_t align,
		       struct build_ids *ids)
{
	size_t size = file_size < MAX_NOTE_BYTES ? (size_t)file_size : MAX_NOTE_BYTES;
	_cleanup_free_ void *data = xmalloc(size + 1);
	ssize_t n = read_at(fd, data, size, offset);

	if (n > 0)
		build_ids_add(ids, data, (size_t)n, align);
}

/* Go's linker does not put the GNU build id into a note segment. */
static void read_note_sections(int fd, const struct elf_header *header, struct build_ids *ids)
{
	size_t needed = header->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), size;
	_cleanup_free_ uint8_t *table = NULL;
	unsigned int notes_read = 0;
	ssize_t n;

	if (!header->shnum || header->shentsize < needed)
		return;
	size = (size_t)header->shentsize *
	       (header->shnum < MAX_SECTIONS ? header->shnum : MAX_SECTIONS);
	table = xmalloc(size);
	n = read_at(fd, table, size, header->shoff);
	for (size_t at = 0; n > 0 && at + needed <= (size_t)n; at += header->shentsize) {
		struct section_header sh = parse_section_header(table + at, header->is_64bit);

		if (sh.type == SHT_NOTE && !ids->gnu_size && notes_read++ < MAX_NOTE_SEGMENTS)
			read_notes(fd, sh.offset, sh.size, sh.align, ids);
	}
}

static void read_segments(int fd, const struct elf_header *header, const void *table,
			  uint32_t count, struct binary_summary *summary)
{
	struct build_ids ids = {0};
	unsigned int notes_read = 0;

	summary->segments = xcalloc(count ? count : 1, sizeof(*summary->segments));
	for (uint32_t i = 0; i < count; i++) {
		struct program_header ph;
		struct bytes b;

		bytes_init(&b, (const uint8_t *)table + (size_t)i * header->phentsize,
			   header->phentsize);
		ph = parse_program_header(b, header->is_64bit);
		if (ph.type == PT_LOAD)
			summary->segments[summary->segment_count++] = (struct binary_segment){
				.file_offset = ph.offset,
				.file_size = ph.file_size,
				.vaddr = ph.vaddr,
				.executable = ph.flags & PF_X,
			};
		else if (ph.type == PT_NOTE && !ids.gnu_size && notes_read++ < MAX_NOTE_SEGMENTS)
			read_notes(fd, ph.offset, ph.file_size, ph.align, &ids);
	}
	if (!ids.gnu_size)
		read_note_sections(fd, header, &ids);
	summary->build_id_size = (uint8_t)build_ids_choose(&ids, summary->build_id);
}

int binary_summarize(int fd, struct binary_summary *summary, struct error *err)
{
	_cleanup_free_ void *table = NULL;
	struct elf_header header = {0};
	uint32_t count;
	ssize_t n;
	int ret;

	*summary = (struct binary_summary){0};
	ret = read_header(fd, &header, err);
	if (ret)
		return ret;
	summary->machine = header.machine;
	summary->is_64bit = header.is_64bit;
	count = header.phnum == PN_XNUM ? extended_phnum(fd, &header) : header.phnum;
	if (count > MAX_SEGMENTS)
		count = MAX_SEGMENTS;
	if (count == 0)
		return 0;
	if (header.phentsize < (header.is_64bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return error_text(err, -ENOEXEC, "program headers of impossible size");
	table = xmalloc((size_t)count * header.phentsize);
	n = read_at(fd, table, (size_t)count * header.phentsize, header.phoff);
	if (n < 0)
		return error_set(err, (int)n, "read program headers");
	read_segments(fd, &header, table, (uint32_t)((size_t)n / header.phentsize), summary);
	return 0;
}

void binary_summary_release(struct binary_summary *summary)
{
	free(summary->segments);
	summary->segments = NULL;
	summary->segment_count = 0;
}
