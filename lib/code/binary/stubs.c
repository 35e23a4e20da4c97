/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/code/binary/handle.h"
#include "lib/code/binary/stub_code.h"

/* A word of the GOT that is filled in at run time, and its relocation. */
struct slot {
	uint64_t vaddr;
	const char *name; /* NULL: the function at `target` chooses */
	uint64_t target;
};

struct slots {
	VEC(struct slot) rows; /* by vaddr, once all are known */
	VEC(struct slot) lazy; /* relocations of .rela.plt, in its order */
	uint64_t budget; /* bytes that may still be read: forged sections can share bytes */
};

struct relocation_types {
	uint16_t machine;
	uint32_t glob_dat, jump_slot, irelative;
};

static const struct relocation_types known_types[] = {
	{EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE},
	{EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE},
};

static const struct relocation_types *find_types(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
		if (known_types[i].machine == machine)
			return &known_types[i];
	}
	return NULL;
}

/* The symbols that a table of relocations refers to. */
struct symbol_names {
	Elf_Data *symbols; /* NULL if none */
	struct string_table text;
};

static struct symbol_names open_symbol_names(Elf *elf, size_t section)
{
	Elf_Scn *scn = section ? elf_getscn(elf, section) : NULL;
	struct symbol_names names = {0};
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return names;
	names.symbols = elf_getdata(scn, NULL);
	names.text = string_table_open(elf, header.sh_link);
	return names;
}

/* False for relocations of other kinds, and for those with neither a name nor a target. */
static bool read_slot(const GElf_Rela *rela, const struct relocation_types *types,
		      const struct symbol_names *names, struct slot *slot)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	GElf_Sym symbol;

	*slot = (struct slot){.vaddr = rela->r_offset};
	if (type == types->irelative) {
		slot->target = (uint64_t)rela->r_addend;
		return slot->target;
	}
	if (type != types->jump_slot && type != types->glob_dat)
		return false;
	if (!names->symbols || GELF_R_SYM(rela->r_info) > INT32_MAX ||
	    !gelf_getsym(names->symbols, (int)GELF_R_SYM(rela->r_info), &symbol))
		return false;
	slot->name = string_table_get(&names->text, symbol.st_name);
	return slot->name && *slot->name;
}

static void add_relocations(struct slots *slots, const struct binary *b, Elf_Scn *scn,
			    const GElf_Shdr *header, const struct relocation_types *types)
{
	const char *own = string_table_get(&b->section_names, header->sh_name);
	struct symbol_names names = open_symbol_names(b->elf, header->sh_link);
	size_t size = gelf_fsize(b->elf, ELF_T_RELA, 1, EV_CURRENT);
	bool is_lazy = own && strcmp(own, ".rela.plt") == 0;
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !data->d_buf || !size || data->d_size > slots->budget)
		return;
	slots->budget -= data->d_size;
	for (size_t i = 0; i < data->d_size / size && i < INT32_MAX; i++) {
		GElf_Rela rela;
		struct slot slot = {0};
		bool is_slot = gelf_getrela(data, (int)i, &rela) &&
			       read_slot(&rela, types, &names, &slot);

		if (is_slot)
			vec_push(&slots->rows, slot);
		/* Keep also those not understood: stubs refer to them by number. */
		if (is_lazy)
			vec_push(&slots->lazy, is_slot ? slot : (struct slot){0});
	}
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static void find_slots(struct slots *slots, const struct binary *b,
		       const struct relocation_types *types)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
		    (header.sh_flags & SHF_ALLOC))
			add_relocations(slots, b, scn, &header, types);
	}
	if (slots->rows.count)
		vec_sort(&slots->rows, compare_slots);
}

/* NULL: the word is unknown. */
static const struct slot *slot_of(const struct slots *slots, const struct stub_jump *jump)
{
	const struct slot wanted = {.vaddr = jump->slot};

	if (jump->is_numbered) {
		const struct slot *slot = jump->number < slots->lazy.count
						  ? &slots->lazy.items[jump->number]
						  : NULL;

		return slot && (slot->name || slot->target) ? slot : NULL;
	}
	if (!slots->rows.count)
		return NULL;
	return bsearch(&wanted, slots->rows.items, slots->rows.count, sizeof(wanted),
		       compare_slots);
}

static bool holds_stubs(const struct binary *b, const GElf_Shdr *header)
{
	const char *name = string_table_get(&b->section_names, header->sh_name);

	return name && header->sh_type == SHT_PROGBITS && (header->sh_flags & SHF_EXECINSTR) &&
	       (text_starts_with(name, ".plt") || text_starts_with(name, ".iplt"));
}

void binary_stub_extent(const struct binary *b, uint64_t *start, uint64_t *end)
{
	Elf_Scn *scn = NULL;

	*start = UINT64_MAX;
	*end = 0;
	while ((scn = elf_nextscn(b->elf, scn))) {
		uint64_t section_end;
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header) || !holds_stubs(b, &header))
			continue;
		if (__builtin_add_overflow(header.sh_addr, header.sh_size, &section_end))
			section_end = UINT64_MAX;
		*start = MIN(*start, header.sh_addr);
		*end = MAX(*end, section_end);
	}
}

static void add_section(struct binary_stubs *stubs, const struct binary *b, Elf_Scn *scn,
			const GElf_Shdr *header, struct slots *slots)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	struct stub_code code = {.machine = b->machine, .vaddr = header->sh_addr};
	struct stub_jump jump;

	if (!data || !data->d_buf || data->d_size > slots->budget)
		return;
	slots->budget -= data->d_size;
	code.bytes = data->d_buf;
	code.size = data->d_size;
	while (stub_code_next(&code, &jump)) {
		const struct slot *slot = slot_of(slots, &jump);

		if (slot)
			vec_push(&stubs->rows, (struct binary_stub){.vaddr = code.vaddr + jump.at,
								    .size = jump.size,
								    .name = slot->name,
								    .target = slot->target});
	}
}

static int compare_stubs(const void *a, const void *b)
{
	const struct binary_stub *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Sections of forged files may overlap. */
static void warm_up(struct binary_stubs *stubs)
{
	struct binary_stub *rows = stubs->rows.items;
	size_t kept = 0;

	if (!stubs->rows.count)
		return;
	qsort(rows, stubs->rows.count, sizeof(*rows), compare_stubs);
	for (size_t i = 0; i < stubs->rows.count; i++) {
		if (rows[i].size > UINT64_MAX - rows[i].vaddr ||
		    (kept && rows[i].vaddr < rows[kept - 1].vaddr + rows[kept - 1].size))
			continue;
		rows[kept++] = rows[i];
	}
	stubs->rows.count = kept;
}

void binary_find_stubs(const struct binary *b, struct binary_stubs *stubs)
{
	const struct relocation_types *types = find_types(b->machine);
	struct slots slots = {.budget = 2 * b->file_size};
	Elf_Scn *scn = NULL;
	bool has_slots = false;

	/* A file not yet linked has no stubs. */
	if (!types || gelf_getclass(b->elf) != ELFCLASS64 || b->is_relocatable)
		return;
	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header) || !holds_stubs(b, &header))
			continue;
		if (!has_slots)
			find_slots(&slots, b, types);
		has_slots = true;
		add_section(stubs, b, scn, &header, &slots);
	}
	warm_up(stubs);
	vec_release(&slots.rows);
	vec_release(&slots.lazy);
}
