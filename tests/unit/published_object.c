/* SPDX-License-Identifier: MIT */
#include "tests/unit/published_object.h"

#include <elf.h>
#include <string.h>

#include "tests/unit/cfi_bytes.h"

enum section {
	S_NONE,
	S_TEXT,
	S_FRAMES,
	S_FRAME_RELOCATIONS,
	S_SYMBOLS,
	S_NAMES,
	S_LINES,
	S_LINE_RELOCATIONS,
	S_COUNT,
};

#define TEXT_OFFSET 0x1000 /* the code itself is not in the file */
#define NAMES "\0.text\0.eh_frame\0.debug_frame\0.debug_line\0first\0second"
#define NAME_TEXT 1
#define NAME_EH_FRAME 7
#define NAME_DEBUG_FRAME 17
#define NAME_DEBUG_LINE 30
#define NAME_FIRST 42
#define NAME_SECOND 48

struct writer {
	struct cfi_bytes bytes;
	Elf64_Shdr sections[S_COUNT];
	enum published_way way;
	uint64_t code, size;
	Elf64_Rela relocations[2]; /* of the section being written */
	size_t relocation_count;
};

static void begin(struct writer *w, enum section number, uint32_t name, uint32_t type)
{
	while (w->bytes.size % 8)
		put_u8(&w->bytes, 0);
	w->sections[number].sh_name = name;
	w->sections[number].sh_type = type;
	w->sections[number].sh_offset = w->bytes.size;
	w->relocation_count = 0;
}

static void end(struct writer *w, enum section number)
{
	w->sections[number].sh_size = w->bytes.size - w->sections[number].sh_offset;
}

/* An address in the code, as a relocatable object has it: 0, and a relocation. */
static void put_addr(struct writer *w, enum section number, uint64_t offset, uint32_t type)
{
	if (w->way == PUBLISHED_IMAGE && type == R_X86_64_PC64) {
		put_u64(&w->bytes, TEXT_OFFSET + offset - w->bytes.size);
		return;
	}
	if (w->way == PUBLISHED_PLACED || w->way == PUBLISHED_BY_TEXT) {
		put_u64(&w->bytes, w->code + offset);
		return;
	}
	w->relocations[w->relocation_count++] = (Elf64_Rela){
		.r_offset = w->bytes.size - w->sections[number].sh_offset,
		.r_info = ELF64_R_INFO(1, type),
		.r_addend = (int64_t)offset,
	};
	put_u64(&w->bytes, 0);
}

static void put_relocations(struct writer *w, enum section number, enum section of)
{
	size_t size = w->relocation_count * sizeof(Elf64_Rela);

	begin(w, number, 0, SHT_RELA);
	w->sections[number].sh_info = of;
	w->sections[number].sh_link = S_SYMBOLS;
	put_bytes(&w->bytes, w->relocations, size);
	end(w, number);
}

static void put_length(struct writer *w, size_t at)
{
	uint32_t length;

	while ((w->bytes.size - at) % 8 != 4)
		put_u8(&w->bytes, 0);
	length = (uint32_t)(w->bytes.size - at - 4);
	memcpy(w->bytes.data + at, &length, 4);
}

static void put_frame(struct writer *w, size_t cie, uint64_t offset, unsigned int cfa)
{
	size_t at = w->bytes.size;

	put_u32(&w->bytes, 0);
	put_u32(&w->bytes, w->way == PUBLISHED_PLACED ? 0 : at + 4 - cie);
	if (w->way == PUBLISHED_BY_TEXT) {
		put_u32(&w->bytes, offset);
		put_u32(&w->bytes, w->size / 2);
	} else {
		put_addr(w, S_FRAMES, offset, R_X86_64_PC64);
		put_u64(&w->bytes, w->size / 2);
	}
	if (w->way != PUBLISHED_PLACED)
		put_u8(&w->bytes, 0);
	put_u8(&w->bytes, 0x0e); /* DW_CFA_def_cfa_offset */
	put_u8(&w->bytes, cfa);
	put_length(w, at);
}

static void put_frames(struct writer *w)
{
	bool is_debug_frame = w->way == PUBLISHED_PLACED;
	size_t cie;

	begin(w, S_FRAMES, is_debug_frame ? NAME_DEBUG_FRAME : NAME_EH_FRAME, SHT_PROGBITS);
	cie = w->bytes.size;
	put_u32(&w->bytes, 0);
	put_u32(&w->bytes, is_debug_frame ? UINT32_MAX : 0);
	put_u8(&w->bytes, 1);
	if (!is_debug_frame)
		put_text(&w->bytes, "zR");
	put_u8(&w->bytes, 0);
	put_u8(&w->bytes, 1);
	put_u8(&w->bytes, 0x78); /* data alignment -8 */
	put_u8(&w->bytes, 16);
	if (!is_debug_frame) {
		put_u8(&w->bytes, 1);
		put_u8(&w->bytes, w->way == PUBLISHED_BY_TEXT ? 0x23 : 0x1c);
	}
	put_text(&w->bytes, "\x0c\x07\x08\x90\x01"); /* CFA = sp + 8, ra at CFA - 8 */
	put_length(w, cie);
	put_frame(w, cie, 0, 16);
	put_frame(w, cie, w->size / 2, 32);
	end(w, S_FRAMES);
	put_relocations(w, S_FRAME_RELOCATIONS, S_FRAMES);
}

static void put_lines(struct writer *w)
{
	static const uint8_t header[] = {4, 0, 30, 0, 0, 0, 1, 1, 1, 0xfb, 14, 13, 0,
					 1, 1, 1,  1, 0, 0, 0, 1, 0, 0,	   1,  0};
	size_t at;

	begin(w, S_LINES, NAME_DEBUG_LINE, SHT_PROGBITS);
	at = w->bytes.size;
	put_u32(&w->bytes, 0);
	put_bytes(&w->bytes, header, sizeof(header));
	put_bytes(&w->bytes, "made.c\0\0\0\0", 11);
	put_text(&w->bytes, "\0\x09\x02"); /* DW_LNE_set_address */
	put_addr(w, S_LINES, 0, R_X86_64_64);
	put_text(&w->bytes, "\x03\x09\x01\x02"); /* line 10, copy, advance … */
	put_uleb(&w->bytes, w->size / 2);
	put_text(&w->bytes, "\x03\x0a\x01\x02"); /* line 20, copy, advance … */
	put_uleb(&w->bytes, w->size / 2);
	put_text(&w->bytes, "\0\x01\x01"); /* DW_LNE_end_sequence */
	put_length(w, at);
	end(w, S_LINES);
	put_relocations(w, S_LINE_RELOCATIONS, S_LINES);
}

static void put_symbol(struct writer *w, uint32_t name, int type, uint64_t offset, uint64_t size)
{
	const Elf64_Sym symbol = {
		.st_name = name,
		.st_info = (uint8_t)ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = type == STT_NOTYPE ? 0 : S_TEXT,
		.st_value = (w->way == PUBLISHED_PLACED ? w->code : 0) + offset,
		.st_size = size,
	};

	put_bytes(&w->bytes, &symbol, sizeof(symbol));
}

static void put_symbols(struct writer *w)
{
	begin(w, S_SYMBOLS, 0, SHT_SYMTAB);
	w->sections[S_SYMBOLS].sh_link = S_NAMES;
	put_symbol(w, 0, STT_NOTYPE, 0, 0);
	put_symbol(w, 0, STT_SECTION, 0, 0);
	put_symbol(w, NAME_SECOND, STT_FUNC, w->size / 2, w->size / 2);
	put_symbol(w, NAME_FIRST, STT_FUNC, 0, w->size / 2);
	end(w, S_SYMBOLS);
	begin(w, S_NAMES, 0, SHT_STRTAB);
	put_bytes(&w->bytes, NAMES, sizeof(NAMES));
	end(w, S_NAMES);
}

size_t published_object(uint8_t to[PUBLISHED_OBJECT_MAX], enum published_way way, uint64_t code,
			uint64_t code_size)
{
	static struct writer w;
	Elf64_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = way == PUBLISHED_PLACED  ? ET_EXEC
			  : way == PUBLISHED_IMAGE ? ET_DYN
						   : ET_REL,
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = S_COUNT,
		.e_shstrndx = S_NAMES,
	};

	w = (struct writer){.way = way, .code = code, .size = code_size};
	put_bytes(&w.bytes, &head, sizeof(head));
	w.sections[S_TEXT] = (Elf64_Shdr){.sh_name = NAME_TEXT,
					  .sh_type = SHT_NOBITS,
					  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					  .sh_offset = TEXT_OFFSET,
					  .sh_addr = code,
					  .sh_size = code_size};
	put_frames(&w);
	put_lines(&w);
	put_symbols(&w);
	while (w.bytes.size % 8)
		put_u8(&w.bytes, 0);
	head.e_shoff = w.bytes.size;
	put_bytes(&w.bytes, w.sections, sizeof(w.sections));
	memcpy(w.bytes.data, &head, sizeof(head));
	memcpy(to, w.bytes.data, w.bytes.size);
	return w.bytes.size;
}
