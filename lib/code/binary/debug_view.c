/* SPDX-License-Identifier: MIT */
/*
 * Presents sections anywhere in memory to libdw as one ELF image, without copying. An image begins
 * with its headers, and libelf bounds sections only by offset: if the headers lie below all
 * sections, an offset is the distance to the bytes, wherever they are.
 */
#include <elf.h>
#include <libelf.h>
#include <pthread.h>
#include <sys/mman.h>

#include "lib/code/binary/debug_sections.h"

/* Below programs, heaps, libraries and mappings; above the range that the kernel reserves. */
#define LOWEST_ADDR ((uintptr_t)1 << 20)
/*
 * Reserves only address space until headers are in use. A program at a fixed address leaves less
 * room.
 */
#define LARGEST_AREA ((size_t)64 << 20)
#define SMALLEST_AREA ((size_t)1 << 20)
#define SLOT_SIZE 1024

/* The empty section, the section of names, and the sections that libdw reads. */
#define MAX_SECTIONS (2 + DEBUG_SECTION_COUNT - 2)
#define MAX_NAMES_SIZE 160

union slot {
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[MAX_SECTIONS];
		char names[MAX_NAMES_SIZE];
	} image;
	union slot *next_free;
	uint8_t bytes[SLOT_SIZE];
};
_Static_assert(sizeof(union slot) == SLOT_SIZE, "an image fits in its slot");

static struct {
	pthread_mutex_t lock;
	bool was_mapped;
	union slot *unused, *end; /* slots that no image has used yet */
	union slot *free;
} area = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *debug_section_name(enum debug_section_kind kind)
{
	static const char *const names[DEBUG_SECTION_COUNT] = {
		[DEBUG_INFO] = ".debug_info",	      [DEBUG_TYPES] = ".debug_types",
		[DEBUG_ABBREV] = ".debug_abbrev",     [DEBUG_ADDR] = ".debug_addr",
		[DEBUG_LINE] = ".debug_line",	      [DEBUG_LINE_STR] = ".debug_line_str",
		[DEBUG_STR] = ".debug_str",	      [DEBUG_STR_OFFSETS] = ".debug_str_offsets",
		[DEBUG_RANGES] = ".debug_ranges",     [DEBUG_RNGLISTS] = ".debug_rnglists",
		[DEBUG_CU_INDEX] = ".debug_cu_index", [DEBUG_ARANGES] = ".debug_aranges",
	};

	return names[kind];
}

uint64_t debug_view_size(const struct debug_view *view)
{
	uint64_t size = 0;

	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++)
		size += view->at[kind].size;
	return size;
}

static void map_area(void)
{
	for (size_t size = LARGEST_AREA; size >= SMALLEST_AREA; size /= 2) {
		void *wanted = (void *)LOWEST_ADDR;
		void *start = mmap(wanted, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (start == MAP_FAILED)
			continue;
		if (start == wanted || size == SMALLEST_AREA) {
			area.unused = start;
			area.end = area.unused + size / SLOT_SIZE;
			return;
		}
		munmap(start, size);
	}
}

static union slot *slot_new(void)
{
	union slot *slot;

	pthread_mutex_lock(&area.lock);
	if (!area.was_mapped) {
		area.was_mapped = true;
		map_area();
	}
	slot = area.free;
	if (slot)
		area.free = slot->next_free;
	else if (area.unused < area.end)
		slot = area.unused++;
	pthread_mutex_unlock(&area.lock);
	if (slot)
		memset(slot, 0, sizeof(*slot));
	return slot;
}

static void slot_free(union slot *slot)
{
	if (!slot)
		return;
	pthread_mutex_lock(&area.lock);
	slot->next_free = area.free;
	area.free = slot;
	pthread_mutex_unlock(&area.lock);
}

struct image_builder {
	union slot *slot;
	size_t section_count, names_size;
	uint64_t end; /* end offset of the last section */
};

/* Returns false if the bytes lie below the image. */
static bool add_section(struct image_builder *b, const char *name, uint32_t type, const void *data,
			size_t size)
{
	Elf64_Shdr *header = &b->slot->image.sections[b->section_count++];
	size_t name_size = strlen(name) + 1;

	if ((uintptr_t)data < (uintptr_t)b->slot)
		return false;
	memcpy(b->slot->image.names + b->names_size, name, name_size);
	*header = (Elf64_Shdr){
		.sh_name = (uint32_t)b->names_size,
		.sh_type = type,
		.sh_offset = (uintptr_t)data - (uintptr_t)b->slot,
		.sh_size = size,
		.sh_addralign = 1,
	};
	b->names_size += name_size;
	if (header->sh_offset + size > b->end)
		b->end = header->sh_offset + size;
	return true;
}

/*
 * Writes a 64-bit header regardless of the file's class, because of the distances; units state the
 * size of their addresses.
 */
static void write_header(struct image_builder *b, const struct debug_view *view)
{
	b->slot->image.header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = view->machine,
		.e_version = EV_CURRENT,
		.e_shoff = (uintptr_t)b->slot->image.sections - (uintptr_t)b->slot,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)b->section_count,
		.e_shstrndx = 1,
	};
}

static bool build_image(struct image_builder *b, const struct debug_view *view)
{
	/* The empty section's name, at 0, is empty. */
	b->section_count = 1;
	b->names_size = 1;
	if (!add_section(b, ".shstrtab", SHT_STRTAB, b->slot->image.names, MAX_NAMES_SIZE))
		return false;
	for (enum debug_section_kind kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		const struct debug_section *s = &view->at[kind];

		/* Sections that libdw never reads. */
		if (!s->data || kind == DEBUG_CU_INDEX || kind == DEBUG_ARANGES)
			continue;
		if (!add_section(b, debug_section_name(kind), SHT_PROGBITS, s->data, s->size))
			return false;
	}
	write_header(b, view);
	return true;
}

struct Elf *debug_view_begin(const struct debug_view *view)
{
	struct image_builder b = {.slot = slot_new()};
	Elf *elf = NULL;

	if (b.slot && build_image(&b, view))
		elf = elf_memory((char *)b.slot, b.end);
	if (!elf)
		slot_free(b.slot);
	return elf;
}

void debug_view_end(struct Elf *elf)
{
	union slot *slot = elf ? (union slot *)elf_rawfile(elf, NULL) : NULL;

	elf_end(elf);
	slot_free(slot);
}
