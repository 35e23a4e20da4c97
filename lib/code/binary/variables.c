/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/variables.h"

#include "lib/base/open_file.h"
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

/* Limits against forged files. */
#define SEGMENTS_MAX 1024
#define RELOCATIONS_MAX ((size_t)1 << 22) /* total for all tables */
#define ALIGNMENT_MAX 4096
/* arm64: bytes between the thread pointer and a program's variables, unless aligned further. */
#define ARM64_HEAD 16

/* Finds the segment with the thread-local variables, and whether the file is a program. */
static bool find_segment(const struct binary *b, GElf_Phdr *tls, bool *is_program)
{
	GElf_Phdr header;
	GElf_Ehdr elf;
	size_t count = 0;
	bool is_there = false;

	if (!gelf_getehdr(b->elf, &elf) || elf_getphdrnum(b->elf, &count) != 0)
		return false;
	*is_program = elf.e_type == ET_EXEC;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(b->elf, (int)i, &header))
			break;
		*is_program |= header.p_type == PT_INTERP;
		if (header.p_type != PT_TLS)
			continue;
		*tls = header;
		is_there = true;
	}
	return is_there;
}

/* Computes the offset from the thread pointer in a program, whose variables are next to it. */
static bool find_offset(const struct binary *b, const GElf_Phdr *tls, uint64_t vaddr,
			int64_t *offset)
{
	uint64_t mask = tls->p_align ? tls->p_align - 1 : 0;

	if (mask >= ALIGNMENT_MAX || (mask & (mask + 1)))
		return false;
	if (b->machine == EM_AARCH64)
		*offset = (int64_t)(((ARM64_HEAD + mask) & ~mask) + vaddr);
	else
		*offset = (int64_t)(vaddr - ((tls->p_memsz + mask) & ~mask));
	return true;
}

static enum binary_tls_slot slot_of(const struct binary *b, uint32_t type)
{
	static const struct {
		uint32_t x86_64, aarch64;
		enum binary_tls_slot kind;
	} types[] = {
		{R_X86_64_TLSDESC, R_AARCH64_TLSDESC, TLS_SLOT_DESCRIPTOR},
		{R_X86_64_DTPMOD64, R_AARCH64_TLS_DTPMOD, TLS_SLOT_MODULE},
		{R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL, TLS_SLOT_FIXED},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (type == (b->machine == EM_AARCH64 ? types[i].aarch64 : types[i].x86_64))
			return types[i].kind;
	}
	return TLS_SLOT_NONE;
}

/* A relocation refers to the variable by its symbol, or by its place in the file's own segment. */
struct wanted {
	const struct binary *binary;
	const char *name;
	uint64_t vaddr;
	struct binary_tls *tls;
};

static bool is_named(const struct wanted *w, const GElf_Shdr *table, uint64_t number)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Scn *scn = elf_getscn(w->binary->elf, table->sh_link);
	uint8_t row[sizeof(Elf64_Sym)];
	size_t size = symbol_row_size(w->binary);
	struct lazy_names *names;
	const char *name;

	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNSYM ||
	    !section_is_in_file(w->binary, &header) || number >= header.sh_size / size ||
	    read_at(w->binary->fd, row, size, header.sh_offset + number * size) != (ssize_t)size)
		return false;
	symbol_row_read(row, size, &symbol);
	names = lazy_names_open(w->binary, header.sh_link);
	name = names ? lazy_names_get(names, symbol.st_name) : NULL;
	return name && strcmp(name, w->name) == 0;
}

static bool take_relocation(struct wanted *w, const GElf_Shdr *table, const GElf_Rela *rela)
{
	enum binary_tls_slot kind = slot_of(w->binary, (uint32_t)GELF_R_TYPE(rela->r_info));
	uint64_t symbol = GELF_R_SYM(rela->r_info);

	if (kind == TLS_SLOT_NONE)
		return false;
	if (symbol ? !is_named(w, table, symbol)
		   : kind != TLS_SLOT_MODULE && (uint64_t)rela->r_addend != w->vaddr)
		return false;
	*w->tls = (struct binary_tls){
		.kind = kind,
		.slot = rela->r_offset + (kind == TLS_SLOT_DESCRIPTOR ? sizeof(uint64_t) : 0),
		.offset = (int64_t)w->vaddr,
	};
	return true;
}

static bool find_slot(struct wanted *w)
{
	size_t row_size = gelf_fsize(w->binary->elf, ELF_T_RELA, 1, EV_CURRENT);
	size_t left = RELOCATIONS_MAX;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while (row_size && (scn = section_of_type(w->binary->elf, scn, SHT_RELA, &header))) {
		Elf_Data *data = header.sh_flags & SHF_ALLOC ? elf_getdata(scn, NULL) : NULL;
		size_t count = data && data->d_buf ? data->d_size / row_size : 0;

		for (size_t i = 0; i < count && left && i < INT32_MAX; i++, left--) {
			if (gelf_getrela(data, (int)i, &rela) && take_relocation(w, &header, &rela))
				return true;
		}
	}
	return false;
}

int binary_find_tls(const struct binary *b, const char *name, struct binary_tls *tls)
{
	struct binary_object object = {.name = name};
	struct wanted wanted = {b, name, 0, tls};
	bool is_program = false;
	GElf_Phdr segment;

	if (b->machine != EM_AARCH64 && b->machine != EM_X86_64)
		return -ENOENT;
	binary_find_exported(b, &object, 1);
	if (!object.is_there || object.size != sizeof(uint64_t) ||
	    !find_segment(b, &segment, &is_program) || object.vaddr >= segment.p_memsz)
		return -ENOENT;
	wanted.vaddr = object.vaddr;
	*tls = (struct binary_tls){TLS_SLOT_NONE, 0, 0};
	if (is_program && find_offset(b, &segment, object.vaddr, &tls->offset))
		return 0;
	return !is_program && find_slot(&wanted) ? 0 : -ENOTSUP;
}
