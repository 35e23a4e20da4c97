/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/objects.h"

#include <endian.h>
#include <gelf.h>
#include <string.h>
#include <sys/param.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"
#include "lib/code/binary/gnu_hash.h"
#include "lib/code/binary/needed.h"
#include "lib/code/binary/symbol_rows.h"

/* Limits for a forged file, which may list more. */
#define MAX_SEGMENTS 1024
#define MAX_RELOCATION_TABLES 8
#define MAX_RELOCATIONS ((size_t)1 << 20) /* of all tables together */
#define MAX_NAMES ((uint64_t)1 << 30) /* bytes */

/* Bytes of names that are looked at together. */
#define NAMES_STEP ((size_t)64 << 10)

Elf_Scn *section_of_type(Elf *elf, Elf_Scn *scn, uint32_t type, GElf_Shdr *header)
{
	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, header) && header->sh_type == type)
			return scn;
	}
	return NULL;
}

bool section_is_in_file(const struct binary *b, const GElf_Shdr *header)
{
	return header->sh_offset <= b->file_size &&
	       header->sh_size <= b->file_size - header->sh_offset;
}

/* Objects that are looked for, and what the names of those not found yet begin with. */
struct search {
	struct binary_object *wanted;
	size_t count, left;
	bool begins[256]; /* by hash_begin() */
};

static uint8_t hash_begin(const char *name)
{
	return (uint8_t)(*name ? (uint8_t)name[0] * 31 + (uint8_t)name[1] : 0);
}

static void begin_search(struct search *s)
{
	memset(s->begins, 0, sizeof(s->begins));
	s->left = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->wanted[i].is_there)
			continue;
		s->begins[hash_begin(s->wanted[i].name)] = true;
		s->left++;
	}
}

static void take_object(struct binary_object *object, const GElf_Sym *symbol)
{
	object->is_there = true;
	object->vaddr = symbol->st_value;
	object->size = symbol->st_size;
}

static void take_symbol(struct search *s, const GElf_Sym *symbol, const char *name)
{
	if (!name || !*name || !s->begins[hash_begin(name)] || symbol->st_shndx == SHN_UNDEF)
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct binary_object *object = &s->wanted[i];

		if (object->is_there || *object->name != *name || strcmp(object->name, name) != 0)
			continue;
		take_object(object, symbol);
		begin_search(s);
		return;
	}
}

static void search_table(const struct binary *b, uint32_t type, struct search *s)
{
	struct symbol_rows rows;
	GElf_Sym symbol;

	if (!symbol_rows_open(&rows, b, type))
		return;
	symbol_rows_need_names(&rows);
	while (s->left && symbol_rows_next(&rows, &symbol))
		take_symbol(s, &symbol, symbol_rows_name(&rows, &symbol));
	symbol_rows_close(&rows);
}

/*
 * False: no symbol of .symtab has this name. Looks at the names alone, in a small buffer: to read
 * all symbols of a large program takes several times as long, and few have one of a runtime's.
 */
static bool may_be_named(const struct binary *b, const char *name)
{
	_cleanup_free_ char *step = NULL;
	size_t size = strlen(name) + 1;
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_SYMTAB, &header);
	uint64_t at = 0;

	if (!scn)
		return false;
	scn = elf_getscn(b->elf, header.sh_link);
	if (!scn || !gelf_getshdr(scn, &header) || header.sh_size > MAX_NAMES)
		return true;
	step = xmalloc(NAMES_STEP);
	while (header.sh_size - at >= size) {
		ssize_t n = read_at(b->fd, step, MIN(NAMES_STEP, header.sh_size - at),
				    header.sh_offset + at);

		/* A name may lie across the end of a step. */
		if (n < (ssize_t)size || memmem(step, (size_t)n, name, size))
			return true;
		at += (size_t)n - (size - 1);
	}
	return false;
}

void binary_find_exported(const struct binary *b, struct binary_object *wanted, size_t count)
{
	struct search s = {.wanted = wanted, .count = count};
	struct gnu_hash hash;
	GElf_Sym symbol;

	if (b->is_relocatable)
		return;
	if (!gnu_hash_open(&hash, b)) {
		begin_search(&s);
		search_table(b, SHT_DYNSYM, &s);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!wanted[i].is_there && gnu_hash_find(&hash, wanted[i].name, &symbol) &&
		    symbol.st_shndx != SHN_UNDEF)
			take_object(&wanted[i], &symbol);
	}
}

void binary_find_objects(const struct binary *b, struct binary_object *wanted, size_t count)
{
	struct search s = {.wanted = wanted, .count = count};

	if (b->is_relocatable)
		return;
	binary_find_exported(b, wanted, count);
	begin_search(&s);
	if (s.left)
		search_table(b, SHT_SYMTAB, &s);
}

void binary_find_mark(const struct binary *b, struct binary_object *mark)
{
	struct search s = {.wanted = mark, .count = 1};

	if (b->is_relocatable)
		return;
	binary_find_exported(b, mark, 1);
	begin_search(&s);
	if (s.left && !binary_has_soname(b) && may_be_named(b, mark->name))
		search_table(b, SHT_SYMTAB, &s);
}

bool binary_section_extent(const struct binary *b, const char *name, uint64_t *vaddr,
			   uint64_t *size)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(b->elf, scn))) {
		const char *own;

		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_ALLOC))
			continue;
		own = string_table_get(&b->section_names, header.sh_name);
		if (!own || strcmp(own, name) != 0)
			continue;
		*vaddr = header.sh_addr;
		*size = header.sh_size;
		return true;
	}
	return false;
}

/* Finds the place in the file of bytes that a segment loads. */
static bool find_bytes(const struct binary *b, uint64_t vaddr, size_t size, int64_t *offset)
{
	size_t segments = 0;

	if (elf_getphdrnum(b->elf, &segments) != 0)
		return false;
	for (size_t i = 0; i < segments && i < MAX_SEGMENTS; i++) {
		GElf_Phdr header;
		uint64_t from;

		if (!gelf_getphdr(b->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    vaddr < header.p_vaddr)
			continue;
		from = vaddr - header.p_vaddr;
		if (from > header.p_filesz || header.p_filesz - from < size)
			continue;
		return !__builtin_add_overflow(header.p_offset, from, offset);
	}
	return false;
}

/* Sets the words in `out`, which stands for [vaddr, vaddr + size), that get an address. */
static void relocate_section(const struct binary *b, Elf_Scn *scn, uint64_t vaddr, uint8_t *out,
			     size_t size, size_t *left)
{
	uint32_t relative = b->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	size_t row_size = gelf_fsize(b->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !data->d_buf || !row_size)
		return;
	for (size_t i = 0; i < data->d_size / row_size && *left; i++, --*left) {
		GElf_Rela rela;
		uint64_t word;

		if (!gelf_getrela(data, (int)i, &rela) || rela.r_offset < vaddr ||
		    rela.r_offset - vaddr > size - sizeof(word) ||
		    GELF_R_TYPE(rela.r_info) != relative)
			continue;
		word = htole64((uint64_t)rela.r_addend);
		memcpy(out + (rela.r_offset - vaddr), &word, sizeof(word));
	}
}

bool binary_read_text(const struct binary *b, uint64_t vaddr, void *out, size_t size)
{
	Elf_Data *data;
	int64_t offset;

	if (!size || !find_bytes(b, vaddr, size, &offset))
		return false;
	data = elf_getdata_rawchunk(b->elf, offset, size, ELF_T_BYTE);
	if (!data || !data->d_buf || data->d_size != size)
		return false;
	memcpy(out, data->d_buf, size);
	return true;
}

bool binary_read_loaded(const struct binary *b, uint64_t vaddr, void *out, size_t size)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t left = MAX_RELOCATIONS;
	int tables = 0;

	if (!binary_read_text(b, vaddr, out, size))
		return false;
	while (size >= sizeof(uint64_t) && tables++ < MAX_RELOCATION_TABLES &&
	       (scn = section_of_type(b->elf, scn, SHT_RELA, &header))) {
		if (header.sh_flags & SHF_ALLOC)
			relocate_section(b, scn, vaddr, out, size, &left);
	}
	return true;
}
