/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/variables.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/handle.h"
#include "lib/code/binary/symbols.h"

DEFINE_CLEANUP(struct binary *, binary_free)

static void read_segments(struct variables *v, const struct binary *b)
{
	size_t count = 0;

	if (gelf_getclass(b->elf) != ELFCLASS64 || elf_getphdrnum(b->elf, &count))
		return;
	for (size_t i = 0; i < count && v->segments.count < VARIABLE_SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(b->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		vec_push(&v->segments, (struct variable_segment){
					       .file_offset = header.p_offset,
					       .file_size = header.p_filesz,
					       .vaddr = header.p_vaddr,
					       .size = header.p_memsz,
					       .executable = header.p_flags & PF_X,
					       .writable = header.p_flags & PF_W,
				       });
	}
}

/* Reads names only of symbols of the right kind and size. */
static uint64_t find_in(const struct binary *b, uint32_t table, const char *name, uint64_t size)
{
	struct symbol_rows rows;
	GElf_Sym symbol;
	uint64_t vaddr = 0;

	if (!symbol_rows_open(&rows, b, table))
		return 0;
	while (!vaddr && symbol_rows_next(&rows, &symbol)) {
		const char *own;

		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size != size ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		own = symbol_rows_name(&rows, &symbol);
		if (own && strcmp(own, name) == 0)
			vaddr = symbol.st_value;
	}
	symbol_rows_close(&rows);
	return vaddr;
}

void variables_read(struct variables *v, int fd, const char *name, uint64_t size)
{
	_cleanup_(binary_free) struct binary *b = NULL;

	if (fd < 0 || binary_open(&b, fd, NULL))
		return;
	read_segments(v, b);
	if (!v->segments.count)
		return;
	v->vaddr = find_in(b, SHT_DYNSYM, name, size);
	if (!v->vaddr)
		v->vaddr = find_in(b, SHT_SYMTAB, name, size);
}

void variables_release(struct variables *v)
{
	vec_release(&v->segments);
}

bool variables_find_bias(const struct variables *v, uint64_t start, uint64_t file_offset,
			 uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	vec_for_each(&v->segments, const struct variable_segment *, segment) {
		uint64_t first = segment->file_offset & ~(page - 1);

		if (!segment->executable || file_offset < first ||
		    file_offset - first >= segment->file_size + (segment->file_offset - first))
			continue;
		*bias = start - file_offset + segment->file_offset - segment->vaddr;
		return true;
	}
	return false;
}
