/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/code_object.h"

#include <elf.h>

#include "lib/base/bytes.h"
#include "lib/code/binary/line_table.h"

/* Real objects have a few dozen. */
#define SECTIONS_MAX 4096
/* Size of `files`, so that offsets fit; real objects have some hundred bytes. */
#define FILES_SIZE_MAX ((size_t)16 << 20)
/* File name that PHP gives to all its code. */
#define NO_FILE "unknown"
/* Longer names are left out: the names of forged objects may overlap. */
#define NAME_MAX_SIZE 4096

/* An ELF object. */

struct elf_object {
	uint8_t *data;
	size_t size;
	struct step_budget budget; /* bytes of relocations to read: forged sections may overlap */
	VEC(Elf64_Shdr) sections;
	size_t names; /* number of the section with the section names */
};

static bool read_sections(struct elf_object *elf)
{
	Elf64_Ehdr head;
	struct bytes b;
	const void *rows;

	if (elf->size < sizeof(head))
		return false;
	memcpy(&head, elf->data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_shentsize != sizeof(Elf64_Shdr) ||
	    head.e_shnum > SECTIONS_MAX)
		return false;
	if (!head.e_shnum)
		return true;
	bytes_init(&b, elf->data, elf->size);
	bytes_seek(&b, head.e_shoff);
	rows = bytes_take(&b, head.e_shnum * sizeof(Elf64_Shdr));
	if (!rows)
		return false;
	vec_add_zeroed(&elf->sections, head.e_shnum);
	memcpy(elf->sections.items, rows, head.e_shnum * sizeof(Elf64_Shdr));
	elf->names = head.e_shstrndx;
	return true;
}

/* Returns the bytes of a section; none if the object does not contain them. */
static struct bytes section_bytes(const struct elf_object *elf, const Elf64_Shdr *section)
{
	struct bytes all, none;

	bytes_init(&none, elf->data, 0);
	if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED ||
	    section->sh_offset > elf->size)
		return none;
	bytes_init(&all, elf->data, elf->size);
	bytes_seek(&all, section->sh_offset);
	all = bytes_sub(&all, section->sh_size);
	return all.failed ? none : all;
}

static struct bytes numbered_bytes(const struct elf_object *elf, size_t number)
{
	const Elf64_Shdr none = {.sh_type = SHT_NOBITS};

	return section_bytes(elf,
			     number < elf->sections.count ? &elf->sections.items[number] : &none);
}

static const char *text_at(struct bytes table, uint64_t offset)
{
	if (offset >= bytes_left(&table))
		return NULL;
	bytes_seek(&table, offset);
	if (bytes_left(&table) > NAME_MAX_SIZE)
		table.end = table.at + NAME_MAX_SIZE;
	return bytes_cstr(&table);
}

static Elf64_Shdr *find_section(const struct elf_object *elf, const char *name)
{
	struct bytes names = numbered_bytes(elf, elf->names);

	vec_for_each(&elf->sections, Elf64_Shdr *, section) {
		const char *own = text_at(names, section->sh_name);

		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

static bool is_code(const Elf64_Shdr *section)
{
	return (section->sh_flags & SHF_EXECINSTR) && section->sh_addr && section->sh_size &&
	       section->sh_addr + section->sh_size > section->sh_addr;
}

ORDER(compare_ranges, struct object_range, COMPARE(a->start, b->start))

static void add_ranges(struct code_object *object, const struct elf_object *elf)
{
	vec_for_each(&elf->sections, const Elf64_Shdr *, section) {
		if (is_code(section))
			vec_push(&object->ranges,
				 (struct object_range){section->sh_addr,
						       section->sh_addr + section->sh_size});
	}
	vec_sort(&object->ranges, compare_ranges);
}

/* Debug sections with relocations, which the program itself does not apply. */

/*
 * Finds the address of a symbol; for a section that is not loaded, its offset there. Some compilers
 * only note where they placed the sections and leave symbols relative to them, whatever the type of
 * the object.
 */
static bool symbol_addr(const struct elf_object *elf, const Elf64_Sym *symbol, uint64_t *addr)
{
	uint64_t start;

	*addr = symbol->st_value;
	if (symbol->st_shndx == SHN_ABS)
		return true;
	if (!symbol->st_shndx || symbol->st_shndx >= elf->sections.count)
		return false;
	start = elf->sections.items[symbol->st_shndx].sh_addr;
	if (*addr < start)
		*addr += start;
	return true;
}

/* Returns the bytes of the word that a relocation changes; 0: another kind of relocation. */
static size_t word_size(uint64_t info, bool *is_relative)
{
	switch (ELF64_R_TYPE(info)) {
	case R_X86_64_PC64:
	case R_AARCH64_PREL64:
		*is_relative = true;
		return 8;
	case R_X86_64_64:
	case R_AARCH64_ABS64:
		*is_relative = false;
		return 8;
	case R_X86_64_PC32:
	case R_AARCH64_PREL32:
		*is_relative = true;
		return 4;
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_AARCH64_ABS32:
		*is_relative = false;
		return 4;
	default:
		return 0;
	}
}

static void apply(struct elf_object *elf, const Elf64_Shdr *section, const Elf64_Rela *rela,
		  struct bytes symbols)
{
	struct bytes to = section_bytes(elf, section);
	bool is_relative;
	size_t size = word_size(rela->r_info, &is_relative);
	uint64_t number = ELF64_R_SYM(rela->r_info), value;
	Elf64_Sym symbol;

	if (!size || rela->r_offset > bytes_left(&to) || size > bytes_left(&to) - rela->r_offset ||
	    number >= bytes_left(&symbols) / sizeof(symbol))
		return;
	memcpy(&symbol, symbols.at + number * sizeof(symbol), sizeof(symbol));
	if (!symbol_addr(elf, &symbol, &value))
		return;
	value += (uint64_t)rela->r_addend;
	if (is_relative)
		value -= section->sh_addr + rela->r_offset;
	memcpy(elf->data + section->sh_offset + rela->r_offset, &value, size);
}

static void relocate(struct elf_object *elf, const Elf64_Shdr *section)
{
	size_t number = (size_t)(section - elf->sections.items);

	vec_for_each(&elf->sections, const Elf64_Shdr *, it) {
		struct bytes rows = section_bytes(elf, it), symbols;
		Elf64_Rela rela;

		if (it->sh_type != SHT_RELA || it->sh_info != number ||
		    !step_budget_take(&elf->budget, bytes_left(&rows)))
			continue;
		symbols = numbered_bytes(elf, it->sh_link);
		while (bytes_left(&rows) >= sizeof(rela)) {
			memcpy(&rela, bytes_take(&rows, sizeof(rela)), sizeof(rela));
			apply(elf, section, &rela, symbols);
		}
	}
}

/* Returns an address for the section at the same distance from the code as in the object. */
static uint64_t beside_code(const struct elf_object *elf, const Elf64_Shdr *section)
{
	const Elf64_Shdr *code = vec_find(&elf->sections, it, is_code(it));

	return code ? code->sh_addr + (section->sh_offset - code->sh_offset) : 0;
}

static void set_eh_frame(struct code_object *object, struct elf_object *elf)
{
	Elf64_Shdr *section = find_section(elf, ".eh_frame");
	struct bytes b;

	object->is_debug_frame = !section;
	if (!section)
		section = find_section(elf, ".debug_frame");
	if (!section || !object->ranges.count)
		return;
	if (!section->sh_addr)
		section->sh_addr = beside_code(elf, section);
	relocate(elf, section);
	b = section_bytes(elf, section);
	object->eh_frame_size = bytes_left(&b);
	object->eh_frame = object->eh_frame_size ? b.at : NULL;
	object->eh_frame_addr = section->sh_addr;
}

/* Functions. */

ORDER(compare_functions, struct object_function,
      COMPARE(a->start, b->start) ?: COMPARE(a->size, b->size))

static const struct object_range *range_around(const struct code_object *object, uint64_t addr)
{
	size_t count = vec_count_front(&object->ranges, it, it->start <= addr);

	return count && addr < object->ranges.items[count - 1].end
		       ? &object->ranges.items[count - 1]
		       : NULL;
}

/*
 * Clamps functions to the range in which they begin. A symbol without a size ends at the next one.
 */
static void close_functions(struct code_object *object)
{
	size_t kept = 0;

	vec_sort(&object->functions, compare_functions);
	for (size_t i = 0; i < object->functions.count; i++) {
		struct object_function function = object->functions.items[i];
		const struct object_range *range = range_around(object, function.start);
		uint64_t end = range ? range->end : function.start;

		if (i + 1 < object->functions.count && !function.size &&
		    object->functions.items[i + 1].start < end)
			end = object->functions.items[i + 1].start;
		if (!function.size || function.size > end - function.start)
			function.size = end - function.start;
		if (function.size)
			object->functions.items[kept++] = function;
	}
	object->functions.count = kept;
}

static void add_function(struct code_object *object, const struct elf_object *elf,
			 const Elf64_Sym *symbol, struct bytes names)
{
	struct object_function function = {.name = text_at(names, symbol->st_name),
					   .size = symbol->st_size};

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !function.name || !*function.name ||
	    !symbol_addr(elf, symbol, &function.start))
		return;
	function.name_size = strlen(function.name);
	vec_push(&object->functions, function);
}

static void add_functions(struct code_object *object, const struct elf_object *elf)
{
	vec_for_each(&elf->sections, const Elf64_Shdr *, section) {
		struct bytes rows = section_bytes(elf, section), names;
		Elf64_Sym symbol;

		if (section->sh_type != SHT_SYMTAB)
			continue;
		names = numbered_bytes(elf, section->sh_link);
		while (bytes_left(&rows) >= sizeof(symbol)) {
			memcpy(&symbol, bytes_take(&rows, sizeof(symbol)), sizeof(symbol));
			add_function(object, elf, &symbol, names);
		}
		return;
	}
}

/* Lines. */

ORDER(compare_lines, struct object_line, COMPARE(a->addr, b->addr) ?: COMPARE(a->line, b->line))

static uint32_t add_file(struct code_object *object, const struct line_table *table,
			 const struct line_file *file)
{
	const char *dir = file->dir < table->dirs.count ? table->dirs.items[file->dir] : NULL;
	uint32_t at = (uint32_t)object->files.size;

	if (dir && *file->name != '/') {
		strbuf_adds(&object->files, dir);
		strbuf_addch(&object->files, '/');
	}
	strbuf_add(&object->files, file->name, strlen(file->name) + 1);
	return at;
}

/* Adds the lines of a unit, with an end row after each sequence. */
static void add_unit(struct code_object *object, struct line_table *table)
{
	VEC(uint32_t) places = {0};

	vec_for_each(&table->files, const struct line_file *, file) {
		bool fits = file->name && object->files.size < FILES_SIZE_MAX &&
			    strcmp(file->name, NO_FILE) != 0;

		vec_push(&places, fits ? add_file(object, table, file) : UINT32_MAX);
	}
	vec_for_each(&table->sequences, const struct line_sequence *, sequence) {
		const struct line_row *row = &table->rows.items[sequence->first_row];

		for (uint32_t i = 0; i < sequence->row_count; i++, row++) {
			if (row->file < places.count && places.items[row->file] != UINT32_MAX)
				vec_push(&object->lines,
					 (struct object_line){row->addr, row->line,
							      places.items[row->file]});
		}
	}
	vec_release(&places);
}

static struct bytes named_bytes(struct elf_object *elf, const char *name)
{
	const Elf64_Shdr *section = find_section(elf, name);

	if (!section)
		return numbered_bytes(elf, SIZE_MAX);
	relocate(elf, section);
	return section_bytes(elf, section);
}

static void add_lines(struct code_object *object, struct elf_object *elf)
{
	const struct line_sections sections = {
		.line = named_bytes(elf, ".debug_line"),
		.line_str = named_bytes(elf, ".debug_line_str"),
		.str = named_bytes(elf, ".debug_str"),
	};
	struct step_budget budget = {elf->size};
	struct bytes units = sections.line;

	while (bytes_left(&units)) {
		struct line_table table = {0};
		bool is_64bit;

		line_table_read(&table, &sections, bytes_position(&units), &budget);
		add_unit(object, &table);
		line_table_release(&table);
		bytes_skip(&units, bytes_unit_length(&units, &is_64bit));
	}
}

static bool parse_elf(struct code_object *object, uint8_t *data, size_t size)
{
	struct elf_object elf = {.data = data, .size = size, .budget = {size}};
	bool is_elf = read_sections(&elf);

	if (is_elf) {
		add_ranges(object, &elf);
		set_eh_frame(object, &elf);
		object->has_frames = true;
		add_functions(object, &elf);
		add_lines(object, &elf);
	}
	vec_release(&elf.sections);
	return is_elf;
}

/*
 * An object of Erlang's virtual machine, erts/emulator/beam/jit/beam_jit_metadata.cpp:
 *
 *	u32 1, u32 unused, u64 code, u32 functions, u32 size of the code, text module, u32 lines
 *	u32 start, u32 end, u32 lines, text name	per function, relative to the code
 *	u32 offset, u32 line, text file			per line
 *
 * A text is its size with the terminator in 16 bits, its characters, and two unused bytes.
 */

#define BEAM_EMULATOR 0 /* another object, without code … */
#define BEAM_EMULATOR_SIZE 32 /* … and its bytes */
#define BEAM_MODULE 1
#define BEAM_TEXT_END 2
/* Ends the name of the code before a function; entered first. */
#define BEAM_ENTRY "-CodeInfoPrologue"
/* Functions that stacks of processes and schedulers begin with. */
#define BEAM_END "erts_beamasm:normal_exit/0"
#define BEAM_SCHEDULER "global::process_main"

/* NULL: not terminated. */
static const char *beam_text(struct bytes *b, size_t *size)
{
	uint16_t with_end = bytes_u16(b);
	const char *text = bytes_take(b, with_end);

	bytes_skip(b, BEAM_TEXT_END);
	if (!text || !with_end || text[with_end - 1])
		return NULL;
	*size = strlen(text);
	return text;
}

static void beam_line(struct code_object *object, const struct object_function *function,
		      uint64_t code, struct bytes *b)
{
	struct object_line line = {.addr = code + bytes_u32(b), .line = bytes_u32(b)};
	size_t size;
	const char *file = beam_text(b, &size);
	const char *last = object->lines.count ? object->files.text + vec_last(&object->lines).file
					       : NULL;

	if (!file || object->files.size >= FILES_SIZE_MAX ||
	    line.addr >= function->start + function->size)
		return;
	/*
	 * The first line begins some bytes before its function, or at the end of the code before
	 * it.
	 */
	if (line.addr < function->start || !object->lines.count ||
	    vec_last(&object->lines).addr < function->start)
		line.addr = function->start;
	line.file = last && strcmp(last, file) == 0 ? vec_last(&object->lines).file
						    : (uint32_t)object->files.size;
	if (line.file == object->files.size)
		strbuf_add(&object->files, file, size + 1);
	vec_push(&object->lines, line);
}

/* The code before a function is part of it, and has no lines of its own. */
static void join_entry(struct code_object *object, struct object_function *function)
{
	const struct object_function *entry;

	if (!object->functions.count)
		return;
	entry = &vec_last(&object->functions);
	if (entry->start + entry->size != function->start ||
	    entry->name_size != function->name_size ||
	    memcmp(entry->name, function->name, entry->name_size) != 0)
		return;
	function->start = entry->start;
	function->size += entry->size;
	object->functions.count--;
}

static void beam_function(struct code_object *object, uint64_t code, struct bytes *b)
{
	struct object_function function = {.start = code + bytes_u32(b)};
	uint64_t end = code + bytes_u32(b);
	uint32_t lines = bytes_u32(b);
	const size_t entry = strlen(BEAM_ENTRY);

	function.name = beam_text(b, &function.name_size);
	function.size = end > function.start ? end - function.start : 0;
	if (function.name && function.name_size > entry &&
	    memcmp(function.name + function.name_size - entry, BEAM_ENTRY, entry) == 0)
		function.name_size -= entry;
	if (function.name && function.name_size && function.size) {
		join_entry(object, &function);
		vec_push(&object->functions, function);
	}
	if (function.name &&
	    (strcmp(function.name, BEAM_END) == 0 || strcmp(function.name, BEAM_SCHEDULER) == 0) &&
	    function.size && function.start >= code && end <= object->ranges.items[0].end)
		object->outermost = (struct object_range){function.start, end};
	for (uint32_t i = 0; i < lines && !b->failed; i++)
		beam_line(object, &function, code, b);
}

static bool parse_beam(struct code_object *object, const uint8_t *data, size_t size)
{
	uint32_t kind, functions, code_size;
	struct bytes b;
	uint64_t code;
	size_t module;

	bytes_init(&b, data, size);
	kind = bytes_u32(&b);
	if (kind == BEAM_EMULATOR)
		return size == BEAM_EMULATOR_SIZE;
	bytes_skip(&b, 4);
	code = bytes_u64(&b);
	functions = bytes_u32(&b);
	code_size = bytes_u32(&b);
	if (!beam_text(&b, &module) || kind != BEAM_MODULE || code + code_size <= code)
		return false;
	bytes_skip(&b, 4);
	vec_push(&object->ranges, (struct object_range){code, code + code_size});
	object->is_erlang = true;
	for (uint32_t i = 0; i < functions && !b.failed; i++)
		beam_function(object, code, &b);
	return true;
}

bool code_object_parse(struct code_object *object, uint8_t *data, size_t size)
{
	if (!parse_elf(object, data, size) && !parse_beam(object, data, size))
		return false;
	close_functions(object);
	vec_sort(&object->lines, compare_lines);
	return true;
}

void code_object_release(struct code_object *object)
{
	vec_release(&object->ranges);
	vec_release(&object->functions);
	vec_release(&object->lines);
	strbuf_release(&object->files);
}
