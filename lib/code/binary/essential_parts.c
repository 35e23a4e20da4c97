/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/essential_parts.h"

#include <elf.h>

#include "lib/base/open_file.h"

#define SECTIONS_MAX 65280
#define NAMES_MAX ((uint64_t)4 << 20)

struct header {
	uint64_t table, segments; /* offsets of section table and program headers */
	uint32_t count, size; /* number and size of the table's rows */
	uint32_t segment_bytes, names;
	bool is_64bit;
};

struct section {
	uint32_t name, type;
	uint64_t flags, offset, size;
};

enum importance {
	NEEDED,
	NEEDED_IF_ROOM, /* debug information */
	UNNEEDED,
};

static bool read_whole(int fd, void *data, size_t size, uint64_t at)
{
	return read_at(fd, data, size, at) == (ssize_t)size;
}

static int read_header(int fd, struct header *h)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} e;
	const unsigned char *ident = e.wide.e_ident;

	if (!read_whole(fd, &e, sizeof(e.narrow), 0) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	h->is_64bit = ident[EI_CLASS] == ELFCLASS64;
	if (h->is_64bit && !read_whole(fd, &e, sizeof(e.wide), 0))
		return -ENOEXEC;
#define TAKE(e) \
	*h = (struct header) \
	{ \
		.table = (e).e_shoff, .segments = (e).e_phoff, .count = (e).e_shnum, \
		.size = (e).e_shentsize, .segment_bytes = (uint32_t)(e).e_phnum * (e).e_phentsize, \
		.names = (e).e_shstrndx, .is_64bit = h->is_64bit, \
	}
	if (h->is_64bit)
		TAKE(e.wide);
	else
		TAKE(e.narrow);
#undef TAKE
	if (h->count && h->size != (h->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return -ENOEXEC;
	return h->count > SECTIONS_MAX ? -EFBIG : 0;
}

static struct section section_at(const struct essential_parts *p, const struct header *h,
				 uint32_t number)
{
	const uint8_t *row = p->sections + (size_t)number * h->size;
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (h->is_64bit) {
		memcpy(&wide, row, sizeof(wide));
		return (struct section){wide.sh_name, wide.sh_type, wide.sh_flags, wide.sh_offset,
					wide.sh_size};
	}
	memcpy(&narrow, row, sizeof(narrow));
	return (struct section){narrow.sh_name, narrow.sh_type, narrow.sh_flags, narrow.sh_offset,
				narrow.sh_size};
}

/* The type is at the same offset in both classes. */
static void leave_out(const struct essential_parts *p, const struct header *h, uint32_t number)
{
	const uint32_t type = SHT_NOBITS;

	memcpy(p->sections + (size_t)number * h->size + offsetof(Elf64_Shdr, sh_type), &type,
	       sizeof(type));
}

static bool begins_with_any(const char *name, const char *const *starts)
{
	while (*starts && !text_starts_with(name, *starts))
		starts++;
	return *starts != NULL;
}

/* Linker stubs are needed for their names; Go's tables count as data. */
static enum importance judge(const struct section *section, const char *name)
{
	static const char *const debug[] = {".debug", ".zdebug", ".gdb", NULL};
	static const char *const names[] = {
		".eh_frame", ".gopclntab", ".go.",  ".data.rel.ro.gopclntab",
		".plt",	     ".gnu_debug", ".note", ".ARM.",
		".got",	     NULL};

	if (section->type == SHT_NOBITS)
		return UNNEEDED;
	if (begins_with_any(name, debug))
		return NEEDED_IF_ROOM;
	if (section->type == SHT_PROGBITS && section->flags & SHF_ALLOC &&
	    !begins_with_any(name, names))
		return UNNEEDED;
	return NEEDED;
}

static char *read_names(const struct essential_parts *p, const struct header *h, int fd,
			uint64_t *size)
{
	struct section section = {0};
	char *names;

	if (h->names < h->count)
		section = section_at(p, h, h->names);
	*size = section.size < NAMES_MAX ? section.size : 0;
	names = xcalloc(1, *size + 1);
	if (!read_whole(fd, names, *size, section.offset))
		*size = 0;
	return names;
}

static void add(struct essential_parts *p, uint64_t offset, uint64_t size)
{
	vec_push(&p->rows, ((struct essential_part){offset, size}));
	p->bytes += size;
}

/* Adds the sections of that importance. Returns false, and adds none, if they exceed the limit. */
static bool choose(struct essential_parts *p, const struct header *h, const char *names,
		   uint64_t names_size, uint64_t limit, enum importance wanted)
{
	uint64_t needed = p->bytes;

	for (int pass = 0; pass < 2; pass++) {
		bool fits = needed <= limit;

		for (uint32_t i = 0; i < h->count; i++) {
			const struct section section = section_at(p, h, i);
			const char *name = section.name < names_size ? names + section.name : "";

			if (section.type == SHT_NULL || judge(&section, name) != wanted)
				continue;
			if (pass && (!fits || wanted == UNNEEDED))
				leave_out(p, h, i);
			else if (pass)
				add(p, section.offset, section.size);
			else if (__builtin_add_overflow(needed, section.size, &needed))
				needed = UINT64_MAX - section.size;
		}
	}
	return needed <= limit;
}

/* Takes the whole of a file without a section table. */
static int take_whole(struct essential_parts *p, int fd, uint64_t limit)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if ((uint64_t)st.st_size > limit)
		return -EFBIG;
	add(p, 0, (uint64_t)st.st_size);
	return 0;
}

int essential_parts_find(struct essential_parts *p, int fd, uint64_t limit)
{
	_cleanup_free_ char *names = NULL;
	struct header h = {0};
	uint64_t names_size;
	int ret = read_header(fd, &h);

	*p = (struct essential_parts){0};
	if (ret)
		return ret;
	if (!h.count)
		return take_whole(p, fd, limit);
	p->sections_offset = h.table;
	p->sections_size = (uint64_t)h.count * h.size;
	p->sections = xmalloc(p->sections_size);
	if (!read_whole(fd, p->sections, p->sections_size, h.table))
		return -ENOEXEC;
	names = read_names(p, &h, fd, &names_size);
	p->bytes = p->sections_size;
	add(p, 0, h.is_64bit ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	add(p, h.segments, h.segment_bytes);
	if (!choose(p, &h, names, names_size, limit, NEEDED))
		return -EFBIG;
	choose(p, &h, names, names_size, limit, NEEDED_IF_ROOM);
	choose(p, &h, names, names_size, UINT64_MAX, UNNEEDED);
	return 0;
}

void essential_parts_release(struct essential_parts *p)
{
	vec_release(&p->rows);
	free(p->sections);
	*p = (struct essential_parts){0};
}
