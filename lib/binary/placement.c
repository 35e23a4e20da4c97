/* SPDX-License-Identifier: MIT */
/*
 * Addresses for the sections of relocatable files. The linker gives them none; of a kernel's module
 * that is loaded somebody may know where they are, else they are where the kernel's loader puts
 * them: those with code one behind the other, in the order of the section headers, but for those
 * that it drops once the module has started.
 */
#include <gelf.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/binary/handle.h"

/* Where code begins. Not at 0, which in debug information means that there is none. */
#define CODE_START ((uint64_t)1 << 20)
/* What is nowhere is here, where nobody asks for it, and not on top of what is somewhere. */
#define NOWHERE ((uint64_t)1 << 62)
/* No section of a file that somebody could load is larger, and none is aligned to more. */
#define MAX_SECTION ((uint64_t)1 << 32)
#define MAX_ALIGNMENT ((uint64_t)1 << 20)

struct placing {
	const struct section_places *places;
	uint64_t code_end, nowhere_end;
};

/* Takes the next free place behind `end`. */
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
