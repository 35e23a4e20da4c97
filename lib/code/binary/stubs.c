/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/stubs.h"

#include <elf.h>
#include <gelf.h>

#include "lib/base/bytes.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/symbols.h"

/* Linkers align stubs to 8 bytes; the longest have 16 bytes on x86-64. */
#define X86_64_STEP 8
#define X86_64_MAX 16

static bool skip_bytes(struct bytes *b, const char *expected, size_t size)
{
	if (bytes_left(b) < size || memcmp(b->at, expected, size) != 0)
		return false;
	bytes_skip(b, size);
	return true;
}
#define skip(b, expected) skip_bytes(b, expected, sizeof(expected) - 1)

/*
 *	[endbr64]  [mov $number,%r11d]  [bnd] jmp *slot(%rip)
 *	[endbr64]  push $number  [bnd] jmp first_stub
 */
static bool decode_x86_64(const struct stub_reader *code, size_t at, struct stub_jump *jump)
{
	struct bytes b;

	bytes_init(&b, code->bytes, code->size);
	bytes_seek(&b, at);
	*jump = (struct stub_jump){.at = at};
	skip(&b, "\xf3\x0f\x1e\xfa");
	if (skip(&b, "\x68")) {
		jump->is_numbered = true;
		jump->number = bytes_u32(&b);
		skip(&b, "\xf2");
		return skip(&b, "\xe9") && !b.failed;
	}
	if (skip(&b, "\x41\xbb"))
		bytes_skip(&b, 4);
	skip(&b, "\xf2");
	if (!skip(&b, "\xff\x25"))
		return false;
	jump->slot = (uint64_t)(int64_t)(int32_t)bytes_u32(&b);
	jump->slot += code->vaddr + bytes_position(&b);
	return !b.failed;
}

static bool next_x86_64(struct stub_reader *code, struct stub_jump *jump)
{
	struct stub_jump following;

	while (code->next < code->size) {
		size_t at = code->next, size = code->size - at;

		code->next += X86_64_STEP;
		if (!decode_x86_64(code, at, jump))
			continue;
		if (size > X86_64_MAX)
			size = X86_64_MAX;
		if (size > X86_64_STEP && !jump->is_numbered &&
		    decode_x86_64(code, at + X86_64_STEP, &following) && !following.is_numbered)
			size = X86_64_STEP;
		jump->size = size;
		code->next = at + size;
		return true;
	}
	return false;
}

#define AARCH64_BTI_C 0xd503245fu
#define AARCH64_NOP 0xd503201fu
#define AARCH64_BR_X17 0xd61f0220u
/* Words from the load to the jump: ldr, add, [autia1716,] br. */
#define AARCH64_MAX_TAIL 4

static bool read_word(const struct stub_reader *code, size_t at, uint32_t *word)
{
	struct bytes b;

	bytes_init(&b, code->bytes, code->size);
	bytes_seek(&b, at);
	*word = bytes_u32(&b);
	return !b.failed;
}

static bool is_word(const struct stub_reader *code, size_t at, uint32_t expected)
{
	uint32_t word;

	return read_word(code, at, &word) && word == expected;
}

/* adrp x16, page; ldr x17, [x16, #offset] */
static bool read_load(const struct stub_reader *code, size_t at, uint64_t *slot)
{
	uint32_t adrp, ldr;
	uint64_t page;

	if (!read_word(code, at, &adrp) || !read_word(code, at + 4, &ldr) ||
	    (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	/* Sign-extend 21 bits; the unit is pages. */
	page = (page ^ (1u << 20)) - (1u << 20);
	*slot = ((code->vaddr + at) & ~(uint64_t)0xfff) + (page << 12) +
		(uint64_t)(ldr >> 10 & 0xfff) * 8;
	return true;
}

/* [bti c]  adrp  ldr  add  [autia1716]  br x17  [nop…] */
static bool next_aarch64(struct stub_reader *code, struct stub_jump *jump)
{
	while (code->next < code->size) {
		size_t at = code->next, end;

		code->next += 4;
		*jump = (struct stub_jump){.at = at};
		if (!read_load(code, at + 4 * is_word(code, at, AARCH64_BTI_C), &jump->slot))
			continue;
		for (end = at + 8; end < at + 8 + 4 * AARCH64_MAX_TAIL; end += 4) {
			if (is_word(code, end, AARCH64_BR_X17))
				break;
		}
		if (!is_word(code, end, AARCH64_BR_X17))
			continue;
		end += 4;
		while (is_word(code, end, AARCH64_NOP))
			end += 4;
		jump->size = end - at;
		code->next = end;
		return true;
	}
	return false;
}

bool stub_code_next(struct stub_reader *code, struct stub_jump *jump)
{
	if (code->machine == EM_X86_64)
		return next_x86_64(code, jump);
	return code->machine == EM_AARCH64 && next_aarch64(code, jump);
}

/* A word of the GOT filled in at run time, and its relocation. */
struct slot {
	uint64_t vaddr;
	struct lazy_names *names; /* NULL: chosen by the function at `target` */
	uint64_t symbol; /* offset in the file */
	uint64_t target;
};

struct slots {
	VEC(struct slot) rows; /* sorted by vaddr once complete */
	VEC(struct slot) lazy; /* relocations of .rela.plt, in their order */
	uint64_t budget; /* bytes left to read: forged sections can share bytes */
};

struct relocation_types {
	uint16_t machine;
	uint32_t glob_dat, jump_slot, irelative;
};

static const struct relocation_types known_types[] = {
	{EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE},
	{EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE},
};

/* The symbols that a table of relocations refers to. */
struct symbol_names {
	uint64_t at, count; /* offset of the first row in the file, number of rows */
	struct lazy_names *text; /* NULL: no names */
};

static struct symbol_names open_symbol_names(const struct binary *b, size_t section)
{
	Elf_Scn *scn = section ? elf_getscn(b->elf, section) : NULL;
	struct symbol_names names = {0};
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) ||
	    !section_is_in_file(b, &header))
		return names;
	names.at = header.sh_offset;
	names.count = header.sh_size / symbol_row_size(b);
	names.text = lazy_names_open(b, header.sh_link);
	return names;
}

/* Returns false for relocations of other kinds, and for those with neither a name nor a target. */
static bool read_slot(const struct binary *b, const GElf_Rela *rela,
		      const struct relocation_types *types, const struct symbol_names *names,
		      struct slot *slot)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	uint64_t symbol = GELF_R_SYM(rela->r_info);

	*slot = (struct slot){.vaddr = rela->r_offset};
	if (type == types->irelative) {
		slot->target = (uint64_t)rela->r_addend;
		return slot->target;
	}
	if (type != types->jump_slot && type != types->glob_dat)
		return false;
	/* The first symbol has no name. */
	if (!symbol || symbol >= names->count)
		return false;
	slot->names = names->text;
	slot->symbol = names->at + symbol * symbol_row_size(b);
	return slot->names;
}

/*
 * The relocations of words that get the file's address added, which have no symbol. Linkers put
 * them first in their table. A large library has a hundred thousand, and a hundred times fewer
 * others.
 */
struct relative_relocations {
	uint64_t vaddr; /* of the table */
	uint64_t count;
};

static struct relative_relocations find_relative(const struct binary *b)
{
	struct relative_relocations found = {0};
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_RELA)
			found.vaddr = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELACOUNT)
			found.count = entry.d_un.d_val;
	}
	return found;
}

static void add_relocations(struct slots *slots, const struct binary *b, const GElf_Shdr *header,
			    const struct relative_relocations *relative,
			    const struct relocation_types *types)
{
	const char *own = string_table_get(&b->section_names, header->sh_name);
	struct symbol_names names = open_symbol_names(b, header->sh_link);
	size_t size = gelf_fsize(b->elf, ELF_T_RELA, 1, EV_CURRENT);
	bool is_lazy = own && strcmp(own, ".rela.plt") == 0;
	uint64_t skipped = header->sh_addr == relative->vaddr ? relative->count : 0;
	Elf_Data *data;

	if (!size || !section_is_in_file(b, header) || skipped >= header->sh_size / size)
		return;
	data = elf_getdata_rawchunk(b->elf, (int64_t)(header->sh_offset + skipped * size),
				    header->sh_size - skipped * size, ELF_T_RELA);
	if (!data || !data->d_buf || data->d_size > slots->budget)
		return;
	slots->budget -= data->d_size;
	for (size_t i = 0; i < data->d_size / size && i < INT32_MAX; i++) {
		GElf_Rela rela;
		struct slot slot = {0};
		bool is_slot = gelf_getrela(data, (int)i, &rela) &&
			       read_slot(b, &rela, types, &names, &slot);

		if (is_slot)
			vec_push(&slots->rows, slot);
		/* Keep unsupported ones as well: stubs refer to them by number. */
		if (is_lazy)
			vec_push(&slots->lazy, is_slot ? slot : (struct slot){0});
	}
}

ORDER(compare_slots, struct slot, COMPARE(a->vaddr, b->vaddr))

static void find_slots(struct slots *slots, const struct binary *b,
		       const struct relocation_types *types)
{
	const struct relative_relocations relative = find_relative(b);
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
		    (header.sh_flags & SHF_ALLOC))
			add_relocations(slots, b, &header, &relative, types);
	}
	if (slots->rows.count)
		vec_sort(&slots->rows, compare_slots);
}

/* Returns NULL if the word is unknown. */
static const struct slot *slot_of(const struct slots *slots, const struct stub_jump *jump)
{
	const struct slot wanted = {.vaddr = jump->slot};

	if (jump->is_numbered) {
		const struct slot *slot = jump->number < slots->lazy.count
						  ? &slots->lazy.items[jump->number]
						  : NULL;

		return slot && (slot->names || slot->target) ? slot : NULL;
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
	struct stub_reader code = {.machine = b->machine, .vaddr = header->sh_addr};
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
								    .names = slot->names,
								    .symbol = slot->symbol,
								    .target = slot->target});
	}
}

ORDER(compare_stubs, struct binary_stub, COMPARE(a->vaddr, b->vaddr))

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
	const struct relocation_types *types = array_find(known_types, it,
							  it->machine == b->machine);
	struct slots slots = {.budget = 2 * b->file_size};
	Elf_Scn *scn = NULL;
	bool has_slots = false;

	/* An unlinked file has no stubs. */
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

bool binary_name_stub(const struct binary *b, struct binary_stub *stub)
{
	size_t size = symbol_row_size(b);
	uint8_t row[sizeof(GElf_Sym)];
	GElf_Sym symbol;

	if (stub->name || !stub->names)
		return stub->name || stub->target;
	if (read_at(b->fd, row, size, stub->symbol) != (ssize_t)size)
		return false;
	symbol_row_read(row, size, &symbol);
	stub->name = lazy_names_get(stub->names, symbol.st_name);
	if (stub->name && !*stub->name)
		stub->name = NULL;
	return stub->name;
}
