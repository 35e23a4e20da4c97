/* SPDX-License-Identifier: MIT */

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "symbolize/elf/symbol_table.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

/* A file with two code sections, one data section and any symbols. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[7];
	Elf64_Sym symbols[16];
	char names[192];
	char section_names[8];
};

enum { CODE = 1, MORE_CODE, DATA, SYMTAB, NAMES, SECTION_NAMES };

struct image_writer {
	struct image image;
	size_t symbols, names;
};

#define BASE 0x400000ull

struct addresses {
	VEC(uint64_t) rows;
};

static void writer_init(struct image_writer *w, uint16_t machine)
{
	const Elf64_Shdr code = {
		.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 0x1000};
	struct image *image = &w->image;

	*w = (struct image_writer){.symbols = 1, .names = 1};
	image->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = offsetof(struct image, segment),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = offsetof(struct image, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 7,
		.e_shstrndx = SECTION_NAMES,
	};
	image->segment = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = BASE, .p_flags = PF_X};
	image->sections[CODE] = code;
	image->sections[CODE].sh_addr = BASE + 0x1000;
	image->sections[MORE_CODE] = code;
	image->sections[MORE_CODE].sh_addr = BASE + 0x2000;
	image->sections[DATA] = code;
	image->sections[DATA].sh_addr = BASE + 0x3000;
	image->sections[DATA].sh_flags = SHF_ALLOC;
	image->sections[SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					       .sh_offset = offsetof(struct image, symbols),
					       .sh_size = sizeof(image->symbols),
					       .sh_entsize = sizeof(Elf64_Sym),
					       .sh_link = NAMES};
	image->sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					      .sh_offset = offsetof(struct image, names),
					      .sh_size = sizeof(image->names)};
	image->sections[SECTION_NAMES] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB,
			     .sh_offset = offsetof(struct image, section_names),
			     .sh_size = sizeof(image->section_names)};
}

static void add(struct image_writer *w, const char *name, unsigned int bind, unsigned int type,
		uint64_t rva, uint64_t size)
{
	Elf64_Sym *symbol = &w->image.symbols[w->symbols++];
	uint16_t section = (uint16_t)(rva >= 0x3000 ? DATA : rva >= 0x2000 ? MORE_CODE : CODE);

	*symbol = (Elf64_Sym){.st_name = (uint32_t)w->names,
			      .st_info = (unsigned char)ELF64_ST_INFO(bind, type),
			      .st_shndx = section,
			      .st_value = BASE + rva,
			      .st_size = size};
	strcpy(w->image.names + w->names, name);
	w->names += strlen(name) + 1;
}

static int write_image(const struct image *image)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_int_equal(write(fd, image, sizeof(*image)), sizeof(*image));
	return fd;
}

/* `rvas`: what the symbolizer is told that it will be asked for; NULL: nothing. */
static void check_told(const struct image_writer *w, uint64_t rva, const char *name, uint64_t start,
		       uint64_t size, const uint64_t *rvas, size_t rva_count)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = write_image(&w->image);
	const struct symbolizer_input input = {
		.module = &module, .fd = fd, .rvas = rvas, .rva_count = rva_count};
	struct symbolizer *s;
	struct answer answer = ask_one(&symbolizer_elf, &input, rva, &s);

	if (name) {
		assert_non_null(answer.func);
		assert_string_equal(answer.func, name);
		assert_int_equal(answer.func_start, start);
		assert_int_equal(answer.func_size, size);
		assert_false(answer.is_synthetic);
	} else {
		assert_null(answer.func);
	}
	assert_null(answer.chain);
	s->ops->free(s);
}

/* The answer does not depend on what was expected. */
static void check(const struct image_writer *w, uint64_t rva, const char *name, uint64_t start,
		  uint64_t size)
{
	const uint64_t others[] = {0x1000, 0x1108, 0x2200};

	check_told(w, rva, name, start, size, NULL, 0);
	check_told(w, rva, name, start, size, &rva, 1);
	check_told(w, rva, name, start, size, others, 3);
}

TEST(sizes_and_gaps)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "first", STB_GLOBAL, STT_FUNC, 0x1100, 0x10);
	add(&w, "second", STB_LOCAL, STT_FUNC, 0x1200, 0x10);
	check(&w, 0x10fe, NULL, 0, 0);
	/* A return to the first byte, as in a stack that makecontext() made */
	check(&w, 0x10ff, "first", 0x1100, 0x10);
	check(&w, 0x1100, "first", 0x1100, 0x10);
	check(&w, 0x110f, "first", 0x1100, 0x10);
	check(&w, 0x1110, NULL, 0, 0);
	check(&w, 0x120f, "second", 0x1200, 0x10);
}

TEST(symbols_without_size_reach_to_the_next_or_the_sections_end)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "asm_one", STB_GLOBAL, STT_NOTYPE, 0x1100, 0);
	add(&w, "asm_two", STB_GLOBAL, STT_FUNC, 0x1f00, 0);
	add(&w, "other_section", STB_GLOBAL, STT_FUNC, 0x2100, 0x10);
	check(&w, 0x1eff, "asm_one", 0x1100, 0xe00);
	check(&w, 0x1fff, "asm_two", 0x1f00, 0x100);
	check(&w, 0x2000, NULL, 0, 0);
}

TEST(functions_of_start_files_are_short)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "register_tm_clones", STB_LOCAL, STT_FUNC, 0x1100, 0);
	add(&w, "frame_dummy", STB_LOCAL, STT_FUNC, 0x1120, 0);
	add(&w, "exported", STB_GLOBAL, STT_FUNC, 0x2100, 0x10);
	check(&w, 0x111f, "register_tm_clones", 0x1100, 0x20);
	check(&w, 0x112f, "frame_dummy", 0x1120, 0x10);
	check(&w, 0x1130, NULL, 0, 0);
}

TEST(without_local_symbols_labels_are_short)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	w.image.sections[SYMTAB].sh_type = SHT_DYNSYM;
	w.image.sections[CODE].sh_size = 0x4000;
	w.image.sections[MORE_CODE].sh_addr = BASE + 0x6000;
	w.image.sections[DATA].sh_addr = BASE + 0x7000;
	add(&w, "label", STB_GLOBAL, STT_NOTYPE, 0x1100, 0);
	add(&w, "function", STB_GLOBAL, STT_FUNC, 0x2900, 0x10);
	check(&w, 0x20ff, "label", 0x1100, 0x1000);
	check(&w, 0x2100, NULL, 0, 0);
	check(&w, 0x2908, "function", 0x2900, 0x10);
}

static bool is_beyond_end(const struct image_writer *w, uint64_t rva)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = write_image(&w->image);
	struct symbolizer *s;
	struct answer answer = ask_one(
		&symbolizer_elf, &(struct symbolizer_input){.module = &module, .fd = fd}, rva, &s);

	assert_string_equal(answer.func, "label");
	s->ops->free(s);
	return answer.is_beyond_end;
}

/* musl's exported memset() precedes its __clone(), which has no symbol. */
TEST(without_local_symbols_code_tells_where_labels_end)
{
	const uint64_t start = offsetof(struct image, names) + 128;
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	w.image.segment.p_filesz = sizeof(w.image);
	w.image.sections[CODE].sh_addr = BASE + start;
	w.image.sections[CODE].sh_size = 32;
	add(&w, "label", STB_GLOBAL, STT_NOTYPE, start, 0);
	/* test; je to the last instruction; ret; ret; nop */
	memcpy(w.image.names + 128, "\x85\xff\x74\x01\xc3\xc3\x90", 7);
	w.image.sections[SYMTAB].sh_type = SHT_DYNSYM;
	assert_false(is_beyond_end(&w, start + 5));
	assert_true(is_beyond_end(&w, start + 6));
	w.image.sections[SYMTAB].sh_type = SHT_SYMTAB;
	assert_false(is_beyond_end(&w, start + 6));
}

/* As in a stripped library with a separate file of its symbols. */
TEST(local_symbols_of_a_separate_file_prove_reach)
{
	struct symbol_table_input input = {0};
	const struct binary_symbol *symbol;
	struct symbol_table *table;
	struct image_writer w;
	_cleanup_close_ int own = -1, separate = -1;

	writer_init(&w, EM_X86_64);
	w.image.sections[CODE].sh_size = 0x4000;
	add(&w, "label", STB_GLOBAL, STT_NOTYPE, 0x1100, 0);
	separate = write_image(&w.image);
	w.image.sections[SYMTAB].sh_type = SHT_DYNSYM;
	own = write_image(&w.image);
	input.own = own;
	input.separate = separate;
	assert_int_equal(symbol_table_new(&table, &input, NULL), 0);
	symbol = symbol_table_find(table, 0x2500);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "label");
	symbol_table_free(table);
}

/* Reads the symbols near an address from the image, which cannot be read again afterwards. */
static struct symbol_table *read_once(struct image_writer *w, uint64_t rva, int *own)
{
	struct symbol_table_input input = {.separate = -1, .rvas = &rva, .rva_count = 1};
	struct symbol_table *table;

	*own = input.own = write_image(&w->image);
	assert_int_equal(symbol_table_new(&table, &input, NULL), 0);
	assert_int_equal(ftruncate(*own, 0), 0);
	return table;
}

/* A call that never returns ends in front of the next function: one reading finds that, too. */
TEST(of_padding_the_next_function_is_read_at_once)
{
	const uint64_t behind_call = 0x110f;
	const struct binary_symbol *symbol;
	struct symbol_table *table;
	struct image_writer w;
	_cleanup_close_ int own = -1;

	writer_init(&w, EM_X86_64);
	add(&w, "caller", STB_GLOBAL, STT_FUNC, 0x1100, 8);
	add(&w, "next", STB_GLOBAL, STT_FUNC, 0x1110, 8);
	table = read_once(&w, behind_call, &own);
	assert_null(symbol_table_find(table, behind_call));
	symbol = symbol_table_find(table, behind_call + 1);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "next");
	symbol_table_free(table);
}

/* Many files have such a label: _start. */
TEST(a_label_with_its_end_is_read_at_once)
{
	const uint64_t inside = 0x1150;
	const struct binary_symbol *symbol;
	struct symbol_table *table;
	struct image_writer w;
	_cleanup_close_ int own = -1;

	writer_init(&w, EM_X86_64);
	add(&w, "last", STB_GLOBAL, STT_FUNC, 0x1800, 8);
	add(&w, "before", STB_GLOBAL, STT_FUNC, 0x1100, 8);
	add(&w, "label", STB_GLOBAL, STT_NOTYPE, 0x1140, 0);
	add(&w, "next", STB_GLOBAL, STT_FUNC, 0x1160, 8);
	table = read_once(&w, inside, &own);
	symbol = symbol_table_find(table, inside);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "label");
	assert_int_equal(symbol->size, 0x20);
	assert_true(symbol->is_reach_guessed);
	assert_null(symbol_table_find(table, 0x1804));
	symbol_table_free(table);
}

/* A larger function may end behind a label, though another one begins between them. */
TEST(a_label_inside_of_an_earlier_function_names_nothing)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "outer", STB_GLOBAL, STT_FUNC, 0x1100, 0x48);
	add(&w, "inner", STB_GLOBAL, STT_FUNC, 0x1110, 8);
	add(&w, "label", STB_GLOBAL, STT_NOTYPE, 0x1140, 0);
	add(&w, "next", STB_GLOBAL, STT_FUNC, 0x1160, 8);
	check(&w, 0x1150, NULL, 0, 0);
}

/* A function keeps its place even if its name is cut. */
TEST(overlong_names_are_cut)
{
	const size_t size = 70000;
	_cleanup_free_ char *names = malloc(size + 2);
	struct symbol_table_input input = {.separate = -1};
	const struct binary_symbol *symbol;
	struct symbol_table *table;
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "", STB_GLOBAL, STT_FUNC, 0x1100, 0);
	add(&w, "", STB_GLOBAL, STT_FUNC, 0x1200, 0x10);
	w.image.symbols[1].st_name = size - 3;
	w.image.symbols[2].st_name = 1;
	w.image.sections[NAMES].sh_offset = sizeof(w.image);
	w.image.sections[NAMES].sh_size = size + 2;
	memset(names, 'n', size + 1);
	names[0] = names[size + 1] = '\0';
	_cleanup_close_ int own = write_image(&w.image);

	assert_int_equal(write(own, names, size + 2), size + 2);
	input.own = own;
	assert_int_equal(symbol_table_new(&table, &input, NULL), 0);
	symbol = symbol_table_find(table, 0x1100);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "nnnn");
	assert_int_equal(symbol->size, 0x100);
	symbol = symbol_table_find(table, 0x1208);
	assert_non_null(symbol);
	assert_int_equal(strlen(symbol->name), 65535);
	symbol_table_free(table);
}

TEST(no_symbol_reaches_out_of_its_section)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "long", STB_GLOBAL, STT_FUNC, 0x1100, 6000000000000000000);
	add(&w, "longer", STB_GLOBAL, STT_FUNC, 0x2100, UINT64_MAX);
	check(&w, 0x1100, "long", 0x1100, 0xf00);
	check(&w, 0x1fff, "long", 0x1100, 0xf00);
	check(&w, 0x2fff, "longer", 0x2100, 0xf00);
	/* Sections end with the file, too, whatever their size says. */
	w.image.sections[MORE_CODE].sh_size = UINT64_MAX / 2;
	check(&w, 0x2fff, "longer", 0x2100, BINARY_SYMBOL_MAX - 0x100);
}

TEST(labels_inside_of_functions_are_no_functions)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "func", STB_GLOBAL, STT_FUNC, 0x1100, 0x100);
	add(&w, "label", STB_LOCAL, STT_NOTYPE, 0x1180, 0);
	add(&w, "inner", STB_LOCAL, STT_FUNC, 0x11a0, 0x10);
	check(&w, 0x1190, "func", 0x1100, 0x100);
	check(&w, 0x11a8, "inner", 0x11a0, 0x10);
	check(&w, 0x11b0, "func", 0x1100, 0x100);
}

/* Symbols of nasm: functions without a size, labels without a type. */
TEST(local_labels_after_a_function_are_in_it)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "crc", STB_GLOBAL, STT_FUNC, 0x1100, 0);
	add(&w, "fold_loop", STB_LOCAL, STT_NOTYPE, 0x1140, 0);
	add(&w, "less_than_8", STB_LOCAL, STT_NOTYPE, 0x1180, 0);
	add(&w, "copy", STB_GLOBAL, STT_FUNC, 0x1200, 0);
	add(&w, "entry", STB_GLOBAL, STT_NOTYPE, 0x1240, 0);
	add(&w, "helper", STB_LOCAL, STT_NOTYPE, 0x1280, 0);
	add(&w, "sized", STB_GLOBAL, STT_FUNC, 0x1300, 0x20);
	add(&w, "behind", STB_LOCAL, STT_NOTYPE, 0x1340, 0);
	add(&w, "other", STB_LOCAL, STT_NOTYPE, 0x2100, 0);
	check(&w, 0x1150, "crc", 0x1100, 0x100);
	check(&w, 0x1190, "crc", 0x1100, 0x100);
	check(&w, 0x1250, "entry", 0x1240, 0x40);
	check(&w, 0x1290, "helper", 0x1280, 0x80);
	check(&w, 0x1350, "behind", 0x1340, 0xcc0);
	check(&w, 0x2108, "other", 0x2100, 0xf00);
}

TEST(of_aliases_the_best_known_is_taken)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "local_name_is_longer", STB_LOCAL, STT_FUNC, 0x1100, 0x10);
	add(&w, "__libc_malloc", STB_GLOBAL, STT_FUNC, 0x1100, 0x10);
	add(&w, "malloc", STB_WEAK, STT_FUNC, 0x1100, 0);
	add(&w, "mall", STB_GLOBAL, STT_FUNC, 0x1100, 0x10);
	add(&w, "x", STB_GLOBAL, STT_FUNC, 0x1200, 0);
	add(&w, "label_with_size", STB_GLOBAL, STT_NOTYPE, 0x1200, 0x20);
	add(&w, "gamma", STB_WEAK, STT_FUNC, 0x1300, 0x10);
	add(&w, "lgamma", STB_GLOBAL, STT_FUNC, 0x1300, 0x10);
	add(&w, "open64", STB_WEAK, STT_FUNC, 0x1400, 0x10);
	add(&w, "__open", STB_GLOBAL, STT_FUNC, 0x1400, 0x10);
	add(&w, "open", STB_WEAK, STT_FUNC, 0x1400, 0x10);
	check(&w, 0x1308, "lgamma", 0x1300, 0x10);
	check(&w, 0x1408, "open", 0x1400, 0x10);
	check(&w, 0x1108, "mall", 0x1100, 0x10);
	check(&w, 0x1208, "x", 0x1200, 0x20);
}

TEST(symbols_that_name_no_code)
{
	struct image_writer w;

	writer_init(&w, EM_AARCH64);
	add(&w, "func", STB_GLOBAL, STT_FUNC, 0x1100, 0);
	add(&w, "$x", STB_LOCAL, STT_NOTYPE, 0x1110, 0);
	add(&w, ".Llabel", STB_LOCAL, STT_NOTYPE, 0x1120, 0);
	/* Labels in a function, as nasm and yasm leave them */
	add(&w, "func.loop", STB_LOCAL, STT_NOTYPE, 0x1124, 0);
	add(&w, "..@7.skip", STB_LOCAL, STT_NOTYPE, 0x1128, 0);
	add(&w, "func.two", STB_GLOBAL, STT_NOTYPE, 0x1200, 0);
	add(&w, "local.sized", STB_LOCAL, STT_NOTYPE, 0x1300, 0x10);
	add(&w, "object", STB_GLOBAL, STT_OBJECT, 0x1130, 0x100);
	add(&w, "file", STB_LOCAL, STT_FILE, 0x1130, 0);
	add(&w, "data", STB_GLOBAL, STT_FUNC, 0x3100, 0x10);
	w.image.symbols[w.symbols] = w.image.symbols[1];
	w.image.symbols[w.symbols].st_value += 0x30;
	w.image.symbols[w.symbols].st_shndx = SHN_UNDEF;
	check(&w, 0x1126, "func", 0x1100, 0x100);
	check(&w, 0x1140, "func", 0x1100, 0x100);
	check(&w, 0x1208, "func.two", 0x1200, 0x100);
	check(&w, 0x1308, "local.sized", 0x1300, 0x10);
	check(&w, 0x3108, NULL, 0, 0);
}

TEST(versions_are_cut_off)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "memcpy@@GLIBC_2.14", STB_GLOBAL, STT_FUNC, 0x1100, 0x10);
	add(&w, "@odd", STB_GLOBAL, STT_FUNC, 0x1200, 0x10);
	add(&w, "*Set(Int32)@Set(T)#each:Nil", STB_GLOBAL, STT_FUNC, 0x1300, 0x10);
	check(&w, 0x1100, "memcpy", 0x1100, 0x10);
	check(&w, 0x1200, "@odd", 0x1200, 0x10);
	check(&w, 0x1300, "*Set(Int32)@Set(T)#each:Nil", 0x1300, 0x10);
}

TEST(hostile_numbers)
{
	struct image_writer w;

	writer_init(&w, EM_X86_64);
	add(&w, "huge", STB_GLOBAL, STT_FUNC, 0x1100, UINT64_MAX);
	add(&w, "nameless", STB_GLOBAL, STT_FUNC, 0x1200, 0x10);
	add(&w, "nowhere", STB_GLOBAL, STT_FUNC, 0x1300, 0x10);
	add(&w, "below", STB_GLOBAL, STT_FUNC, 0x1400, 0x10);
	w.image.symbols[2].st_name = 0xffffff;
	w.image.symbols[3].st_shndx = 0xff00 - 1;
	w.image.symbols[4].st_value = 1;
	memset(w.image.names + sizeof(w.image.names) - 8, 'x', 8);
	check(&w, 0x1208, "huge", 0x1100, 0xf00);
	check(&w, 1, NULL, 0, 0);
}

TEST(files_without_symbols)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	struct symbolizer_input input = {.module = &module, .fd = -1};
	struct symbolizer *s;
	struct image_writer w;
	_cleanup_close_ int bare = -1, text = -1;

	assert_int_equal(symbolizer_elf.open(&s, &input, NULL), -ENOENT);
	writer_init(&w, EM_X86_64);
	bare = write_image(&w.image);
	input.fd = bare;
	assert_int_equal(symbolizer_elf.open(&s, &input, NULL), -ENOENT);
	text = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(text, "#!/bin/sh\n", 10), 10);
	input.fd = text;
	assert_int_equal(symbolizer_elf.open(&s, &input, NULL), -ENOEXEC);
}

TEST(own_functions)
{
	struct module module = own_module();
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer;

	answer = ask_one(&symbolizer_elf, &input, own_rva(own_mark_inner), &s);
	assert_string_equal(answer.func, "own_outer");
	assert_int_equal(answer.func_start, own_rva((const void *)(uintptr_t)own_outer));
	s->ops->free(s);
	answer = ask_one(&symbolizer_elf, &input, own_rva((const void *)(uintptr_t)own_best_name),
			 &s);
	assert_string_equal(answer.func, "own_best_name");
	s->ops->free(s);
	vec_release(&module.segments);
}

/* Addresses at and around the borders of a tenth of a file's symbols; sorted. */
static void add_borders(int fd, struct addresses *addresses, unsigned int which)
{
	struct binary_symbols symbols = {0};
	struct binary *b;
	unsigned int i = 0;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, symbol) {
		uint64_t start = symbol->vaddr - binary_first_vaddr(b), end = start + symbol->size;

		if (i++ % 10 != which)
			continue;
		vec_push(&addresses->rows, start - 1);
		vec_push(&addresses->rows, start);
		vec_push(&addresses->rows, start + symbol->size / 2);
		vec_push(&addresses->rows, end - !!symbol->size);
		vec_push(&addresses->rows, end);
	}
	vec_release(&symbols.rows);
	binary_free(b);
	vec_sort(&addresses->rows, u64_compare);
}

/* Compares the symbols found near some addresses with those found among all. */
static void compare_near(int fd, const uint64_t *rvas, size_t count, size_t *found)
{
	const struct symbol_table_input all = {.own = fd, .separate = -1};
	struct symbol_table_input near = all;
	struct symbol_table *near_table, *all_table;

	near.rvas = rvas;
	near.rva_count = count;
	assert_int_equal(symbol_table_new(&near_table, &near, NULL), 0);
	assert_int_equal(symbol_table_new(&all_table, &all, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct binary_symbol *x = symbol_table_find(near_table, rvas[i]);
		const struct binary_symbol *y = symbol_table_find(all_table, rvas[i]);

		assert_int_equal(!x, !y);
		if (!x || !y)
			continue;
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->vaddr, y->vaddr);
		assert_int_equal(x->size, y->size);
		assert_int_equal(x->is_reach_guessed, y->is_reach_guessed);
		++*found;
	}
	symbol_table_free(all_table);
	symbol_table_free(near_table);
}

TEST(symbols_near_some_addresses_are_the_same_as_among_all)
{
	Dl_info libc;
	size_t found = 0;

	assert_true(dladdr((void *)(uintptr_t)dlsym(RTLD_NEXT, "malloc"), &libc));
	for (unsigned int i = 0; i < 20; i++) {
		_cleanup_close_ int fd = i % 2 ? own_fd() : open(libc.dli_fname, O_RDONLY);
		struct addresses addresses = {0};

		add_borders(fd, &addresses, i / 2);
		/* Few addresses together, and more. */
		for (size_t at = 0; at + 300 < addresses.rows.count; at += 300)
			compare_near(fd, addresses.rows.items + at, at % 7 ? 3 : 300, &found);
		vec_release(&addresses.rows);
	}
	assert_true(found > 1000);
}

TEST(the_vdso_has_names)
{
	const struct module module = {.kind = PROFILE_MODULE_VDSO};
	_cleanup_close_ int fd = vdso_open(NULL);
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	bool is_named = false;

	assert_int_equal(symbolizer_elf.open(&s, &input, NULL), 0);
	for (uint64_t rva = 0; rva < 0x2000; rva++) {
		struct answer answer = {0};

		s->ops->lookup(s, &rva, 1, &answer);
		is_named |= answer.func && strstr(answer.func, "clock_gettime");
	}
	assert_true(is_named);
	s->ops->free(s);
}
