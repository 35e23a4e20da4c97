/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/symbol_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

#include "lib/base/alloc.h"
#include "lib/base/read_at.h"
#include "lib/code/binary/paged_section.h"

/* Bytes of rows that are read together. */
#define STEP ((size_t)64 << 10)
/* Bytes of a name that are looked for at first, and at most. */
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

static struct lazy_names *names_of(const struct binary *b, size_t section)
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
		.names = names_of(b, header.sh_link),
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

/* Does what gelf_getsym() does, which takes several times as long. Byte orders are the same. */
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
	struct lazy_names *names = rows->names;
	uint64_t start = symbol->st_name, last, end;

	if (!names || start >= names->size)
		return NULL;
	last = MIN(names->size, start + NAME_MAX_BYTES);
	for (uint64_t at = start; at < last; at = end) {
		end = MIN(at + (at - start) + NAME_FIRST, last);
		if (!paged_section_need(&names->pages, at, end))
			return NULL;
		if (memchr(names->pages.memory + at, 0, end - at))
			return (const char *)names->pages.memory + start;
	}
	return NULL;
}

void symbol_rows_close(struct symbol_rows *rows)
{
	free(rows->step);
}
