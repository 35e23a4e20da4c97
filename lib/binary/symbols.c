/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/binary/handle.h"

/* The extent of executable sections, by section number; end is 0 for all others. */
struct section_extent {
	uint64_t bias; /* of relocatable files, whose symbols count from the start of the section */
	uint64_t end;
};

struct section_extents {
	VEC(struct section_extent) rows;
};

static void read_section_extents(const struct binary *b, struct section_extents *extents)
{
	Elf_Scn *scn = NULL;

	vec_push(&extents->rows, (struct section_extent){0});
	while ((scn = elf_nextscn(b->elf, scn))) {
		struct section_extent extent = {0};
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR)) {
			uint64_t addr = section_addr(b, elf_ndxscn(scn), header.sh_addr);

			uint64_t size = header.sh_size;

			if (size > BINARY_SYMBOL_MAX)
				size = BINARY_SYMBOL_MAX;
			if (b->is_relocatable)
				extent.bias = addr;
			if (__builtin_add_overflow(addr, size, &extent.end))
				extent.end = UINT64_MAX;
		}
		vec_push(&extents->rows, extent);
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

/* A symbol unique in the whole process (STB_GNU_UNIQUE) is global, too. */
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

static void add_symbol(const GElf_Sym *symbol, const struct section_extents *extents,
		       const struct string_table *names, struct binary_symbols *symbols)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	bool is_func = type == STT_FUNC || type == STT_GNU_IFUNC;
	const char *name = string_table_get(names, symbol->st_name);
	const struct section_extent *extent;
	uint64_t vaddr, room;

	if (!(is_func || type == STT_NOTYPE) || !name || !*name)
		return;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= extents->rows.count)
		return;
	extent = &extents->rows.items[symbol->st_shndx];
	if (__builtin_add_overflow(symbol->st_value, extent->bias, &vaddr) ||
	    vaddr >= extent->end || (!is_func && is_marker(name)))
		return;
	room = extent->end - vaddr;
	vec_push(&symbols->rows, (struct binary_symbol){
					 .vaddr = vaddr,
					 .size = symbol->st_size < room ? symbol->st_size : room,
					 .limit = extent->end,
					 .name = name,
					 .is_func = is_func,
					 .binding = binding_of(symbol),
				 });
}

static bool add_table(const struct binary *b, uint32_t type, const struct section_extents *extents,
		      struct binary_symbols *symbols)
{
	Elf *elf = b->elf;
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
			add_symbol(&symbol, extents, &names, symbols);
	}
	return data->d_size / size > 1;
}

void binary_add_symbols(const struct binary *b, struct binary_symbols *symbols)
{
	struct section_extents extents = {0};

	read_section_extents(b, &extents);
	/* A .symtab repeats what .dynsym has. */
	if (!add_table(b, SHT_SYMTAB, &extents, symbols))
		add_table(b, SHT_DYNSYM, &extents, symbols);
	vec_release(&extents.rows);
}
