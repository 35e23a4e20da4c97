/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/binary.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/code/binary/build_id.h"
#include "lib/code/binary/handle.h"
#include "lib/code/binary/symbol_rows.h"

DEFINE_CLEANUP(struct binary *, binary_free)

struct string_table string_table_open(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const char *last;

	if (!data || !data->d_buf || !data->d_size)
		return (struct string_table){0};
	last = memrchr(data->d_buf, '\0', data->d_size);
	if (!last)
		return (struct string_table){0};
	return (struct string_table){data->d_buf, (size_t)(last - (const char *)data->d_buf) + 1};
}

const char *string_table_get(const struct string_table *table, uint64_t offset)
{
	return offset < table->size ? table->text + offset : NULL;
}

static void read_first_vaddr(struct binary *b)
{
	size_t count;

	if (elf_getphdrnum(b->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(b->elf, (int)i, &header) && header.p_type == PT_LOAD) {
			b->first_vaddr = header.p_vaddr;
			return;
		}
	}
}

/*
 * libelf searches for the end of every name from the end of the table: it would search an
 * unterminated table whole for each section.
 */
static bool has_sane_names(Elf *elf, struct string_table *names)
{
	Elf_Scn *scn;
	GElf_Shdr header;
	size_t section;

	if (elf_getshdrstrndx(elf, &section) != 0)
		return false;
	if (section == SHN_UNDEF)
		return true;
	*names = string_table_open(elf, section);
	scn = elf_getscn(elf, section);
	return scn && gelf_getshdr(scn, &header) && names->size == header.sh_size;
}

int binary_open(struct binary **out, int fd, struct error *err)
{
	_cleanup_(binary_free) struct binary *b = xcalloc(1, sizeof(*b));
	struct stat st;
	GElf_Ehdr header;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_text(err, -ENOEXEC, "libelf has an unexpected version");
	if (fstat(fd, &st) != 0)
		return error_set(err, -errno, "fstat");
	if (!S_ISREG(st.st_mode))
		return error_text(err, -ENOEXEC, "no regular file");
	/* Never mapped: a file that is truncated meanwhile would kill the reader by SIGBUS. */
	b->fd = fd;
	b->names = xcalloc(1, sizeof(struct lazy_names *));
	b->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!b->elf || elf_kind(b->elf) != ELF_K_ELF || !gelf_getehdr(b->elf, &header))
		return error_text(err, -ENOEXEC, "not an ELF file");
	if (header.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_text(err, -ENOEXEC, "an ELF file with another byte order");
	if (!has_sane_names(b->elf, &b->section_names))
		return error_text(err, -ENOEXEC, "section names are damaged");
	b->machine = header.e_machine;
	b->file_size = (uint64_t)st.st_size;
	b->is_relocatable = header.e_type == ET_REL;
	if (b->is_relocatable)
		binary_place_sections(b, &(struct section_places){0});
	else
		read_first_vaddr(b);
	*out = steal(b);
	return 0;
}

void binary_free(struct binary *b)
{
	if (!b)
		return;
	vec_release(&b->section_addrs);
	if (b->names)
		lazy_names_free(*b->names);
	free(b->names);
	elf_end(b->elf);
	free(b);
}

uint64_t binary_first_vaddr(const struct binary *b)
{
	return b->first_vaddr;
}

static void add_section_ids(const struct binary *b, struct build_ids *ids)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf &&
		    build_ids_add(ids, data->d_buf, data->d_size, header.sh_addralign))
			return;
	}
}

static void add_segment_ids(const struct binary *b, struct build_ids *ids)
{
	size_t count;

	if (elf_getphdrnum(b->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		Elf_Data *data;

		if (!gelf_getphdr(b->elf, (int)i, &header) || header.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(b->elf, (int64_t)header.p_offset, header.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_buf &&
		    build_ids_add(ids, data->d_buf, data->d_size, header.p_align))
			return;
	}
}

size_t binary_build_id(const struct binary *b, uint8_t build_id[BUILD_ID_MAX])
{
	struct build_ids ids = {0};

	add_section_ids(b, &ids);
	if (!ids.gnu_size)
		add_segment_ids(b, &ids);
	return build_ids_choose(&ids, build_id);
}

bool binary_has_section(const struct binary *b, const char *name)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS || !header.sh_size)
			continue;
		found = string_table_get(&b->section_names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return true;
	}
	return false;
}
