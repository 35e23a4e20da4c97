/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/relocate.h"

#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

/* Tables as in the file, perhaps unaligned. */
struct table {
	const uint8_t *rows;
	size_t count;
};

Elf_Scn *relocations_find(const struct binary *b, size_t section)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
		    header.sh_info == section)
			return scn;
	}
	return NULL;
}

static struct table open_table(Elf_Scn *scn, size_t row_size)
{
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return (struct table){0};
	return (struct table){data->d_buf, data->d_size / row_size};
}

/* Bytes of an absolute reference; 0: of another kind. */
static size_t width_of(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_64			     ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
}

/* Symbols of other files have no known value. */
static uint64_t symbol_value(const struct binary *b, const struct table *symbols, size_t number)
{
	Elf64_Sym symbol;

	if (number >= symbols->count)
		return 0;
	memcpy(&symbol, symbols->rows + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx == SHN_ABS)
		return symbol.st_value;
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE)
		return 0;
	return symbol.st_value + section_addr(b, symbol.st_shndx, 0);
}

static void apply(const struct binary *b, const struct table *relocations,
		  const struct table *symbols, uint8_t *data, size_t size)
{
	for (size_t i = 0; i < relocations->count; i++) {
		Elf64_Rela rela;
		uint64_t value;
		size_t width;

		memcpy(&rela, relocations->rows + i * sizeof(rela), sizeof(rela));
		width = width_of(b->machine, ELF64_R_TYPE(rela.r_info));
		if (!width || width > size || rela.r_offset > size - width)
			continue;
		value = symbol_value(b, symbols, ELF64_R_SYM(rela.r_info)) +
			(uint64_t)rela.r_addend;
		/* Little-endian: the lower half comes first. */
		value = htole64(value);
		memcpy(data + rela.r_offset, &value, width);
	}
}

int relocations_apply(const struct binary *b, Elf_Scn *relocations, uint8_t *data, size_t size,
		      struct error *err)
{
	struct table rows = open_table(relocations, sizeof(Elf64_Rela)), symbols;
	GElf_Shdr header;

	if (gelf_getclass(b->elf) != ELFCLASS64 ||
	    (b->machine != EM_X86_64 && b->machine != EM_AARCH64))
		return error_text(err, -ENOEXEC, "relocations of another kind of machine");
	if (!gelf_getshdr(relocations, &header) || (header.sh_flags & SHF_COMPRESSED))
		return error_text(err, -ENOEXEC, "damaged relocations");
	symbols = open_table(elf_getscn(b->elf, header.sh_link), sizeof(Elf64_Sym));
	apply(b, &rows, &symbols, data, size);
	return 0;
}
