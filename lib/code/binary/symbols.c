/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/symbols.h"

#include <gelf.h>
#include <sys/mman.h>

#include "lib/base/open_file.h"
#include "lib/code/binary/paged_section.h"

/* Bytes of rows to read at once. */
#define STEP ((size_t)64 << 10)
/* Bytes of a name to read at first, and at most. */
#define NAME_FIRST 128u
#define NAME_MAX_BYTES ((uint64_t)64 << 10)

struct lazy_names {
	struct lazy_names *next;
	size_t section;
	uint64_t size;
	struct paged_section pages;
};

static struct lazy_names *new_names(const struct binary *b, size_t section)
{
	Elf_Scn *scn = elf_getscn(b->elf, section);
	struct lazy_names *names;
	GElf_Shdr header;
	void *memory;

	if (!scn || !gelf_getshdr(scn, &header) || !header.sh_size ||
	    header.sh_type != SHT_STRTAB || !section_is_in_file(b, &header))
		return NULL;
	memory = mmap(NULL, header.sh_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	names = xcalloc(1, sizeof(*names));
	names->section = section;
	names->size = header.sh_size;
	paged_section_init(&names->pages,
			   &(struct file_part){b->fd, header.sh_offset, header.sh_size}, memory);
	return names;
}

struct lazy_names *lazy_names_open(const struct binary *b, size_t section)
{
	struct lazy_names **next = b->names;

	while (*next && (*next)->section != section)
		next = &(*next)->next;
	if (!*next)
		*next = new_names(b, section);
	return *next;
}

void lazy_names_free(struct lazy_names *names)
{
	while (names) {
		struct lazy_names *next = names->next;

		munmap(names->pages.memory, names->size);
		paged_section_release(&names->pages);
		free(names);
		names = next;
	}
}

size_t symbol_row_size(const struct binary *b)
{
	return gelf_getclass(b->elf) == ELFCLASS64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

bool symbol_rows_open(struct symbol_rows *rows, const struct binary *b, uint32_t type)
{
	size_t row_size = symbol_row_size(b);
	GElf_Shdr header;

	if (!section_of_type(b->elf, NULL, type, &header) || !section_is_in_file(b, &header))
		return false;
	*rows = (struct symbol_rows){
		.names = lazy_names_open(b, header.sh_link),
		.fd = b->fd,
		.at = header.sh_offset + row_size,
		.row_size = row_size,
		.count = header.sh_size / row_size,
	};
	rows->end = header.sh_offset + rows->count * row_size;
	rows->step = xmalloc(STEP);
	return true;
}

static bool read_step(struct symbol_rows *rows)
{
	size_t size = STEP / rows->row_size * rows->row_size;

	if (rows->at >= rows->end)
		return false;
	size = MIN(size, rows->end - rows->at);
	if (read_at(rows->fd, rows->step, size, rows->at) != (ssize_t)size) {
		rows->at = rows->end;
		return false;
	}
	rows->at += size;
	rows->step_at = 0;
	rows->step_size = size;
	return true;
}

/* Replaces gelf_getsym(), which takes several times as long. Assumes the machine's byte order. */
void symbol_row_read(const uint8_t *row, size_t size, GElf_Sym *symbol)
{
	Elf32_Sym small;

	if (size == sizeof(*symbol)) {
		memcpy(symbol, row, sizeof(*symbol));
		return;
	}
	memcpy(&small, row, sizeof(small));
	*symbol = (GElf_Sym){
		.st_name = small.st_name,
		.st_info = small.st_info,
		.st_other = small.st_other,
		.st_shndx = small.st_shndx,
		.st_value = small.st_value,
		.st_size = small.st_size,
	};
}

bool symbol_rows_next(struct symbol_rows *rows, GElf_Sym *symbol)
{
	if (rows->step_at == rows->step_size && !read_step(rows))
		return false;
	symbol_row_read(rows->step + rows->step_at, rows->row_size, symbol);
	rows->step_at += rows->row_size;
	return true;
}

void symbol_rows_need_names(const struct symbol_rows *rows)
{
	if (rows->names)
		paged_section_need(&rows->names->pages, 0, rows->names->size);
}

const char *symbol_rows_name(const struct symbol_rows *rows, const GElf_Sym *symbol)
{
	return rows->names ? lazy_names_get(rows->names, symbol->st_name) : NULL;
}

const char *lazy_names_get(struct lazy_names *names, uint64_t start)
{
	uint64_t last, end;

	if (start >= names->size)
		return NULL;
	last = MIN(names->size, start + NAME_MAX_BYTES);
	for (uint64_t at = start; at < last; at = end) {
		end = MIN(at + (at - start) + NAME_FIRST, last);
		if (!paged_section_need(&names->pages, at, end))
			return NULL;
		if (memchr(names->pages.memory + at, 0, end - at))
			return (const char *)names->pages.memory + start;
	}
	if (last - start < NAME_MAX_BYTES)
		return NULL;
	/* The pages are a private copy, so the name may be cut in place. */
	names->pages.memory[last - 1] = '\0';
	return (const char *)names->pages.memory + start;
}

void symbol_rows_close(struct symbol_rows *rows)
{
	free(rows->step);
}

/* The extent of executable sections, by section number; end is 0 for all others. */
struct section_extent {
	uint64_t bias; /* section address in relocatable files, whose symbols are relative to their
			  section */
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

/*
 * Returns true for labels that are not functions: "$x" and "$d.1", which distinguish code from data
 * for disassemblers; ".L" labels, which should have been removed; and "spin.loop" and "..@7.loop",
 * which nasm and yasm leave in functions.
 */
static bool is_marker(const struct binary_symbol *symbol)
{
	const char *name = symbol->name;

	return name[0] == '$' || (name[0] == '.' && name[1] == 'L') ||
	       (symbol->binding == BINARY_LOCAL && !symbol->size && strchr(name + 1, '.'));
}

/* Symbols unique in the whole process (STB_GNU_UNIQUE) are global as well. */
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

/*
 * Fills in everything but the name; a symbol without a size covers up to `reach` bytes. Returns
 * false if the symbol is neither a function nor a label.
 */
static bool place_symbol(const GElf_Sym *symbol, const struct section_extents *extents,
			 uint64_t reach, struct binary_symbol *placed)
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
		.limit = vaddr + MIN(room, reach),
		.is_func = is_func,
		.binding = binding_of(symbol),
	};
	return true;
}

static bool has_name(const struct binary_symbol *symbol)
{
	return symbol->name && *symbol->name && (symbol->is_func || !is_marker(symbol));
}

/*
 * Bytes covered by a dynamic symbol without a size. In a file without .symtab, local functions
 * after it have no symbols.
 */
#define DYNAMIC_REACH 4096

/*
 * Returns the maximum bytes covered by a symbol without a size if it belongs to a file that C
 * compilers link in front of a program's own code, which may have no symbols.
 */
static uint64_t start_file_reach(const char *name)
{
	static const struct {
		const char *name;
		uint64_t reach;
	} functions[] = {
		{"frame_dummy", 16}, /* a jump */
		{"register_tm_clones", 64},
		{"deregister_tm_clones", 64},
		{"__do_global_dtors_aux", 64},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(name, functions[i].name) == 0)
			return functions[i].reach;
	}
	return UINT64_MAX;
}

static bool add_table(const struct binary *b, uint32_t type, const struct section_extents *extents,
		      const struct binary_symbol_filter *filter, struct binary_symbols *symbols)
{
	uint64_t reach = type == SHT_SYMTAB ? UINT64_MAX : DYNAMIC_REACH;
	struct symbol_rows rows;
	GElf_Sym row;

	if (!symbol_rows_open(&rows, b, type))
		return false;
	if (!filter)
		symbol_rows_need_names(&rows);
	while (symbol_rows_next(&rows, &row)) {
		struct binary_symbol symbol;

		if (!place_symbol(&row, extents, reach, &symbol) ||
		    (filter && !filter->wants(filter->ctx, &symbol)))
			continue;
		symbol.name = symbol_rows_name(&rows, &row);
		symbol.is_dynamic = type == SHT_DYNSYM;
		if (!has_name(&symbol))
			continue;
		symbol.limit = symbol.vaddr +
			       MIN(symbol.limit - symbol.vaddr, start_file_reach(symbol.name));
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
	/* .symtab repeats the symbols of .dynsym. */
	if (!add_table(b, SHT_SYMTAB, &extents, filter, symbols))
		add_table(b, SHT_DYNSYM, &extents, filter, symbols);
	vec_release(&extents.rows);
}
