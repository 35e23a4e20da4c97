/* SPDX-License-Identifier: MIT */
/*
 * Addresses for the sections of relocatable files, to which the linker gives none. The places may
 * be known for a loaded kernel module; otherwise they follow the kernel's loader: sections with
 * code lie one after the other in the order of the section headers, except those that the loader
 * drops once the module has started.
 */
#include <gelf.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/code/binary/handle.h"

/* Start of code. Not 0, which in debug information means "no code". */
#define CODE_START ((uint64_t)1 << 20)
/* Address of sections without a place: nobody asks for it, and no placed section is there. */
#define NOWHERE ((uint64_t)1 << 62)
/* Limits beyond any section of a loadable file. */
#define MAX_SECTION ((uint64_t)1 << 32)
#define MAX_ALIGNMENT ((uint64_t)1 << 20)

struct placing {
	const struct section_places *places;
	uint64_t code_end, nowhere_end;
};

/* Takes the next free place after `end`. */
static uint64_t append(uint64_t *end, const GElf_Shdr *header)
{
	uint64_t alignment = header->sh_addralign, addr = *end;

	if (alignment > 1 && alignment <= MAX_ALIGNMENT)
		addr = (addr + alignment - 1) / alignment * alignment;
	*end = addr + (header->sh_size < MAX_SECTION ? header->sh_size : MAX_SECTION);
	return addr;
}

static const struct section_place *find_place(const struct section_places *places, const char *name)
{
	for (size_t i = 0; i < places->count; i++) {
		if (strcmp(places->rows[i].name, name) == 0)
			return &places->rows[i];
	}
	return NULL;
}

static uint64_t place(struct placing *p, const GElf_Shdr *header, const char *name)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	const struct section_place *known;

	/* References to sections that are not loaded are offsets in them. */
	if (!(header->sh_flags & SHF_ALLOC))
		return 0;
	if ((header->sh_flags & code) != code || !name)
		return append(&p->nowhere_end, header);
	known = find_place(p->places, name);
	if (known && known->offset < NOWHERE - CODE_START)
		return CODE_START + known->offset;
	if (p->places->count || text_starts_with(name, ".init"))
		return append(&p->nowhere_end, header);
	return append(&p->code_end, header);
}

void binary_place_sections(struct binary *b, const struct section_places *places)
{
	struct placing p = {.places = places, .code_end = CODE_START, .nowhere_end = NOWHERE};
	Elf_Scn *scn = NULL;

	if (!b->is_relocatable)
		return;
	b->first_vaddr = CODE_START;
	vec_clear(&b->section_addrs);
	vec_push(&b->section_addrs, 0);
	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;
		uint64_t addr = 0;

		if (gelf_getshdr(scn, &header))
			addr = place(&p, &header,
				     string_table_get(&b->section_names, header.sh_name));
		vec_push(&b->section_addrs, addr);
	}
}

uint64_t section_addr(const struct binary *b, size_t number, uint64_t sh_addr)
{
	if (!b->is_relocatable)
		return sh_addr;
	return number < b->section_addrs.count ? b->section_addrs.items[number] : 0;
}
