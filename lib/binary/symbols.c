/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/binary/handle.h"

/* Where executable sections end, by section number; 0 for all other sections. */
struct section_ends {
	VEC(uint64_t) rows;
};

static void read_section_ends(Elf *elf, struct section_ends *ends)
{
	Elf_Scn *scn = NULL;

	vec_push(&ends->rows, 0);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		uint64_t end = 0;

		if (gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR) &&
		    __builtin_add_overflow(header.sh_addr, header.sh_size, &end))
			end = UINT64_MAX;
		vec_push(&ends->rows, end);
	}
}

static Elf_Scn *find_table(Elf *elf, uint32_t type)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == type)
			return scn;
	}
	return NULL;
}

/* "$x", "$d.1" tell code from data for disassemblers; ".L" labels should have been dropped. */
static bool is_marker(const char *name)
{
	return name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* What is unique in the whole process (STB_GNU_UNIQUE) is global, too. */
static enum binary_binding binding_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return BINARY_LOCAL;
	case STB_WEAK:
		return BINARY_WEAK;
	default:
		return BINARY_GLOBAL;
	}
}

static void add_symbol(const GElf_Sym *symbol, const struct section_ends *ends,
		       const struct string_table *names, struct binary_symbols *symbols)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	bool is_func = type == STT_FUNC || type == STT_GNU_IFUNC;
	const char *name = string_table_get(names, symbol->st_name);
	uint64_t limit;

	if (!(is_func || type == STT_NOTYPE) || !name || !*name)
		return;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= ends->rows.count)
		return;
	limit = ends->rows.items[symbol->st_shndx];
	if (symbol->st_value >= limit || (!is_func && is_marker(name)))
		return;
	vec_push(&symbols->rows, (struct binary_symbol){
					 .vaddr = symbol->st_value,
					 .size = symbol->st_size,
					 .limit = limit,
					 .name = name,
					 .is_func = is_func,
					 .binding = binding_of(symbol),
				 });
}

static bool add_table(Elf *elf, uint32_t type, const struct section_ends *ends,
		      struct binary_symbols *symbols)
{
	Elf_Scn *scn = find_table(elf, type);
	struct string_table names;
	GElf_Shdr header;
	Elf_Data *data;
	size_t size;

	if (!scn || !gelf_getshdr(scn, &header))
		return false;
	data = elf_getdata(scn, NULL);
	size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	if (!data || !data->d_buf || !size)
		return false;
	names = string_table_open(elf, header.sh_link);
	for (size_t i = 1; i < data->d_size / size; i++) {
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol))
			add_symbol(&symbol, ends, &names, symbols);
	}
	return data->d_size / size > 1;
}

void binary_add_symbols(const struct binary *b, struct binary_symbols *symbols)
{
	struct section_ends ends = {0};

	read_section_ends(b->elf, &ends);
	/* A .symtab repeats what .dynsym has. */
	if (!add_table(b->elf, SHT_SYMTAB, &ends, symbols))
		add_table(b->elf, SHT_DYNSYM, &ends, symbols);
	vec_release(&ends.rows);
}
