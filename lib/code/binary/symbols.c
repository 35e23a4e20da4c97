/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <string.h>
#include <sys/param.h>

#include "lib/base/vec.h"
#include "lib/code/binary/symbol_rows.h"

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

/* Fills in all but the name. False: it is neither a function nor a label. */
static bool place_symbol(const GElf_Sym *symbol, const struct section_extents *extents,
			 struct binary_symbol *placed)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	bool is_func = type == STT_FUNC || type == STT_GNU_IFUNC;
	const struct section_extent *extent;
	uint64_t vaddr, room;

	if (!(is_func || type == STT_NOTYPE))
		return false;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= extents->rows.count)
		return false;
	extent = &extents->rows.items[symbol->st_shndx];
	if (__builtin_add_overflow(symbol->st_value, extent->bias, &vaddr) || vaddr >= extent->end)
		return false;
	/* A forged symbol can lie far in front of its section. */
	room = MIN(extent->end - vaddr, BINARY_SYMBOL_MAX);
	*placed = (struct binary_symbol){
		.vaddr = vaddr,
		.size = MIN(symbol->st_size, room),
		.limit = vaddr + room,
		.is_func = is_func,
		.binding = binding_of(symbol),
	};
	return true;
}

static bool is_name(const char *name, bool is_func)
{
	return name && *name && (is_func || !is_marker(name));
}

static bool add_table(const struct binary *b, uint32_t type, const struct section_extents *extents,
		      const struct binary_symbol_filter *filter, struct binary_symbols *symbols)
{
	struct symbol_rows rows;
	GElf_Sym row;

	if (!symbol_rows_open(&rows, b, type))
		return false;
	if (!filter)
		symbol_rows_need_names(&rows);
	while (symbol_rows_next(&rows, &row)) {
		struct binary_symbol symbol;

		if (!place_symbol(&row, extents, &symbol) ||
		    (filter && !filter->wants(filter->ctx, &symbol)))
			continue;
		symbol.name = symbol_rows_name(&rows, &row);
		if (is_name(symbol.name, symbol.is_func))
			vec_push(&symbols->rows, symbol);
	}
	symbol_rows_close(&rows);
	return rows.count > 1;
}

void binary_add_symbols(const struct binary *b, const struct binary_symbol_filter *filter,
			struct binary_symbols *symbols)
{
	struct section_extents extents = {0};

	read_section_extents(b, &extents);
	/* A .symtab repeats what .dynsym has. */
	if (!add_table(b, SHT_SYMTAB, &extents, filter, symbols))
		add_table(b, SHT_DYNSYM, &extents, filter, symbols);
	vec_release(&extents.rows);
}
