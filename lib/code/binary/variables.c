/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/variables.h"

#include "lib/code/binary/handle.h"
#include "lib/code/binary/objects.h"
#include "lib/code/binary/symbols.h"

DEFINE_CLEANUP(struct binary *, binary_free)

static void read_segments(struct variables *v, const struct binary *b)
{
	size_t count = 0;

	if (gelf_getclass(b->elf) != ELFCLASS64 || elf_getphdrnum(b->elf, &count))
		return;
	for (size_t i = 0; i < count && v->segments.count < VARIABLE_SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(b->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_GNU_RELRO &&
		    header.p_vaddr + header.p_memsz > header.p_vaddr) {
			v->constants_start = header.p_vaddr;
			v->constants_end = header.p_vaddr + header.p_memsz;
		}
		if (header.p_type != PT_LOAD)
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

static bool is_writable(const struct variables *v, uint64_t vaddr)
{
	if (vaddr >= v->constants_start && vaddr < v->constants_end)
		return false;
	vec_for_each(&v->segments, const struct variable_segment *, segment) {
		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->size)
			return segment->writable;
	}
	return false;
}

/*
 * Searches .symtab. Reads names only of variables of that size; most other objects of small sizes
 * are constants.
 */
static uint64_t find_local(const struct variables *v, const struct binary *b, const char *name,
			   uint64_t size)
{
	struct symbol_rows rows;
	GElf_Sym symbol;
	uint64_t vaddr = 0;

	if (!symbol_rows_open(&rows, b, SHT_SYMTAB))
		return 0;
	while (!vaddr && symbol_rows_next(&rows, &symbol)) {
		const char *own;

		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size != size ||
		    symbol.st_shndx == SHN_UNDEF || !is_writable(v, symbol.st_value))
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
	struct binary_object object = {.name = name};

	if (fd < 0 || binary_open(&b, fd, NULL))
		return;
	read_segments(v, b);
	if (!v->segments.count)
		return;
	/* Most files that have it export it, and large programs have large tables. */
	binary_find_exported(b, &object, 1);
	if (object.is_there && object.size == size)
		v->vaddr = object.vaddr;
	else
		v->vaddr = find_local(v, b, name, size);
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
