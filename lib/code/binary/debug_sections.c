/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/debug_sections.h"

#include <errno.h>
#include <gelf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"
#include "lib/base/vec.h"
#include "lib/code/binary/handle.h"
#include "lib/code/binary/kept_sections.h"
#include "lib/code/binary/paged_section.h"
#include "lib/code/binary/relocate.h"
#include "lib/code/binary/unpack.h"

/*
 * Compilers' output shrinks to a fifth; data that shrink more than this were made to fill memory.
 */
#define MAX_INFLATION 50
#define FREE_INFLATION ((uint64_t)64 << 20)

/* The next bytes needed are mostly near. */
#define UNPACK_STEP ((uint64_t)256 << 10)

/* Smaller plain sections are read whole. */
#define PAGED_MIN ((uint64_t)64 << 10)

#define SPLIT_SUFFIX ".dwo"
#define OLD_HEADER_SIZE 12

/* Newer than glibc's elf.h. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

struct mapping {
	void *start;
	size_t size;
};

/* A compressed section; zeroed for all others. */
struct packed_section {
	struct file_part from;
	uint64_t size, there; /* in bytes, unpacked: of the whole, and those that readers may use */
	struct unpacker *unpacker; /* NULL: not begun, or the section is whole */
	/* Place that it unpacks to: the section, or beside it if a kept part is in its place. */
	uint8_t *out;
};

struct debug_source {
	struct binary *binary;
	VEC(struct mapping) unpacked;
	uint64_t budget; /* bytes that may still be unpacked */
	bool is_lazy;
	struct kept_sections *kept; /* NULL: nothing is kept */
	pthread_mutex_t lock; /* of what follows */
	struct packed_section packed[DEBUG_SECTION_COUNT];
	struct paged_section paged[DEBUG_SECTION_COUNT]; /* of plain sections; zeroed for others */
};

/* Describes what stands before the bytes of a compressed section. */
struct packed {
	enum packing packing; /* PACKING_NONE: not compressed after all */
	size_t header_size;
	uint64_t size; /* unpacked */
};

/* Finds the kind of ".debug_info" or ".zdebug_info", with or without ".dwo". */
static int find_kind(const char *name, bool is_split, bool *is_old)
{
	const char *rest = name + 1;

	*is_old = name[0] == '.' && *rest == 'z';
	if (*is_old)
		rest++;
	if (name[0] != '.' || strncmp(rest, "debug_", 6) != 0)
		return -1;
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		const char *known = debug_section_name((enum debug_section_kind)kind) + 1;
		size_t size = strlen(known);
		/* The index of a package has no suffix, as it belongs to no unit. */
		bool has_suffix = is_split && kind != DEBUG_CU_INDEX;

		if (strncmp(rest, known, size) == 0 &&
		    strcmp(rest + size, has_suffix ? SPLIT_SUFFIX : "") == 0)
			return kind;
	}
	return -1;
}

static int read_header(struct bytes *b, bool is_64bit, struct packed *p, struct error *err)
{
	uint32_t type = bytes_u32(b);

	if (is_64bit) {
		bytes_skip(b, 4);
		p->size = bytes_u64(b);
		bytes_skip(b, 8);
	} else {
		p->size = bytes_u32(b);
		bytes_skip(b, 4);
	}
	if (b->failed)
		return error_text(err, -ENOEXEC, "damaged compressed section");
	p->header_size = is_64bit ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	p->packing = type == ELFCOMPRESS_ZLIB	? PACKING_ZLIB
		     : type == ELFCOMPRESS_ZSTD ? PACKING_ZSTD
						: PACKING_NONE;
	if (p->packing == PACKING_NONE)
		return error_text(err, -ENOEXEC, "a section is compressed in an unknown way");
	return 0;
}

/*
 * Reads "ZLIB" and the size, big-endian; without them the section is plain, as some tools keep the
 * name.
 */
static void read_old_header(const uint8_t *data, size_t data_size, struct packed *p)
{
	uint64_t size;

	if (data_size < OLD_HEADER_SIZE || memcmp(data, "ZLIB", 4) != 0)
		return;
	memcpy(&size, data + 4, sizeof(size));
	p->packing = PACKING_ZLIB;
	p->size = be64toh(size);
	p->header_size = OLD_HEADER_SIZE;
}

/* Reads the header alone: of a large section few bytes may be needed. */
static int find_packing(const struct debug_sections *s, const GElf_Shdr *header, bool is_old,
			struct packed *p, struct error *err)
{
	uint8_t start[sizeof(Elf64_Chdr)];
	struct bytes b;
	ssize_t n;

	*p = (struct packed){.packing = PACKING_NONE};
	if (!(header->sh_flags & SHF_COMPRESSED) && !is_old)
		return 0;
	n = read_at(s->source->binary->fd, start, MIN(sizeof(start), header->sh_size),
		    header->sh_offset);
	if (n < 0)
		return error_text(err, -ENOEXEC, "damaged compressed section");
	if (!(header->sh_flags & SHF_COMPRESSED)) {
		read_old_header(start, (size_t)n, p);
		return 0;
	}
	bytes_init(&b, start, (size_t)n);
	return read_header(&b, s->view.is_64bit, p, err);
}

/* Maps room for the bytes and a terminating zero, followed by an inaccessible page. */
static uint8_t *map_memory(struct debug_source *source, uint64_t size, struct error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t whole = (size + 1 + page - 1) / page * page;
	void *start;

	if (size > source->budget) {
		error_text(err, -EFBIG, "sections would unpack to more than is allowed");
		return NULL;
	}
	source->budget -= size;
	start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (start == MAP_FAILED) {
		error_set(err, -ENOMEM, "unpack sections");
		return NULL;
	}
	vec_push(&source->unpacked, (struct mapping){start, whole + page});
	mprotect((uint8_t *)start + whole, page, PROT_NONE);
	return start;
}

/* Each unit has its own part of these sections. */
static bool may_be_lazy(const struct debug_source *source, int kind)
{
	return source->is_lazy && !source->binary->is_relocatable &&
	       (kind == DEBUG_INFO || kind == DEBUG_LINE);
}

/* zstd: the whole section. */
static int unpack_whole(Elf_Scn *scn, const struct packed *p, uint8_t *memory, struct error *err)
{
	Elf_Data *data = elf_rawdata(scn, NULL);

	if (!data || !data->d_buf || data->d_size < p->header_size)
		return error_text(err, -ENOEXEC, "damaged compressed section");
	return unpack_zstd((uint8_t *)data->d_buf + p->header_size, data->d_size - p->header_size,
			   memory, p->size, err);
}

/* zlib: the first `end` bytes. */
static int unpack_part(struct debug_source *source, struct packed_section *part, uint8_t *memory,
		       uint64_t end, struct error *err)
{
	int ret;

	if (!part->unpacker) {
		/* Keeps what readers use already from being written again, even with the same. */
		part->out = part->there ? map_memory(source, part->size, err) : memory;
		if (!part->out)
			return err ? err->code : -EFBIG;
		part->unpacker = unpacker_new(&part->from, part->out, part->size);
	}
	ret = unpacker_run(part->unpacker, end, err);
	if (ret)
		return ret;
	if (part->out != memory)
		memcpy(memory + part->there, part->out + part->there, end - part->there);
	part->there = end;
	if (end == part->size) {
		unpacker_free(part->unpacker);
		part->unpacker = NULL;
	}
	return 0;
}

static int unpack(struct debug_source *source, Elf_Scn *scn, const GElf_Shdr *header,
		  const struct packed *p, int kind, struct debug_section *out, struct error *err)
{
	struct packed_section *part = &source->packed[kind];
	uint8_t *memory = map_memory(source, p->size, err);
	int ret;

	if (!memory)
		return err ? err->code : -EFBIG;
	*out = (struct debug_section){memory, p->size};
	*part = (struct packed_section){
		.from = {source->binary->fd, header->sh_offset + p->header_size,
			 header->sh_size - p->header_size},
		.size = p->size,
	};
	if (source->kept)
		part->there = kept_sections_map(source->kept, (unsigned int)kind, p->size, memory);
	/* Only zlib can be unpacked in steps. */
	if ((p->size && part->there == p->size) ||
	    (p->packing == PACKING_ZLIB && may_be_lazy(source, kind)))
		return 0;
	part->there = 0;
	ret = p->packing == PACKING_ZSTD ? unpack_whole(scn, p, memory, err)
					 : unpack_part(source, part, memory, p->size, err);
	part->there = p->size;
	return ret;
}

/* libdw searches for the ends of strings regardless of the end of the section. */
static void end_strings(struct debug_section *s, bool is_unpacked)
{
	const uint8_t *last;

	if (!s->size || s->data[s->size - 1] == '\0')
		return;
	if (is_unpacked) {
		s->size++;
		return;
	}
	last = memrchr(s->data, '\0', s->size);
	s->size = last ? (size_t)(last - s->data) + 1 : 0;
}

/* Relocates in a copy; unpacked bytes are one already. */
static int relocate(struct debug_source *source, Elf_Scn *scn, bool is_unpacked,
		    struct debug_section *section, struct error *err)
{
	const struct binary *b = source->binary;
	Elf_Scn *relocations = b->is_relocatable ? relocations_find(b, elf_ndxscn(scn)) : NULL;
	uint8_t *copy;

	if (!relocations)
		return 0;
	copy = is_unpacked ? (uint8_t *)section->data : map_memory(source, section->size, err);
	if (!copy)
		return err ? err->code : -EFBIG;
	if (!is_unpacked)
		memcpy(copy, section->data, section->size);
	section->data = copy;
	return relocations_apply(b, relocations, copy, section->size, err);
}

static int read_plain(struct debug_source *source, Elf_Scn *scn, const GElf_Shdr *header, int kind,
		      struct debug_section *out, struct error *err)
{
	struct file_part part = {source->binary->fd, header->sh_offset, header->sh_size};
	uint64_t end = source->binary->file_size;
	uint8_t *memory;
	Elf_Data *data;

	if (may_be_lazy(source, kind) && part.size >= PAGED_MIN && part.offset <= end &&
	    part.size <= end - part.offset) {
		memory = map_memory(source, part.size, err);
		if (!memory)
			return err ? err->code : -EFBIG;
		paged_section_init(&source->paged[kind], &part, memory);
		*out = (struct debug_section){memory, part.size};
		return 0;
	}
	data = elf_rawdata(scn, NULL);
	if (data && data->d_buf)
		*out = (struct debug_section){data->d_buf, data->d_size};
	return 0;
}

static int read_section(struct debug_sections *s, Elf_Scn *scn, bool is_split, struct error *err)
{
	const struct binary *b = s->source->binary;
	struct debug_section found = {0};
	struct packed p;
	GElf_Shdr header;
	const char *name;
	bool is_old;
	int kind, ret = 0;

	if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS || !header.sh_size)
		return 0;
	name = string_table_get(&b->section_names, header.sh_name);
	kind = name ? find_kind(name, is_split, &is_old) : -1;
	/* Members of groups belong to one function of an object file, not to the file. */
	if (kind < 0 || s->view.at[kind].data || (header.sh_flags & SHF_GROUP))
		return 0;
	ret = find_packing(s, &header, is_old, &p, err);
	if (!ret && p.packing == PACKING_NONE)
		ret = read_plain(s->source, scn, &header, kind, &found, err);
	else if (!ret)
		ret = unpack(s->source, scn, &header, &p, kind, &found, err);
	if (!ret && !found.size)
		return 0;
	if (!ret)
		ret = relocate(s->source, scn, p.packing != PACKING_NONE, &found, err);
	if (ret)
		return ret;
	if (kind == DEBUG_STR || kind == DEBUG_LINE_STR)
		end_strings(&found, p.packing != PACKING_NONE);
	if (found.size)
		s->view.at[kind] = found;
	return 0;
}

/* An empty line table, because libdw does not accept strings alone as debug information. */
static const uint8_t no_lines[4];

static int read_sections(struct debug_sections *s, enum debug_file_use use, struct error *err)
{
	Elf *elf = s->source->binary->elf;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		int ret = read_section(s, scn, use == DEBUG_FILE_SPLIT, err);

		if (ret)
			return ret;
	}
	if (use == DEBUG_FILE_SHARED && !s->view.at[DEBUG_INFO].data &&
	    s->view.at[DEBUG_STR].data) {
		s->view.at[DEBUG_LINE] = (struct debug_section){no_lines, sizeof(no_lines)};
		return 0;
	}
	return s->view.at[DEBUG_INFO].data ? 0 : error_text(err, -ENOENT, "no debug information");
}

static int open_sections(struct debug_sections *s, int fd, enum debug_file_use use, bool is_lazy,
			 const struct section_places *places, const char *folder, struct error *err)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct error local = {0};
	GElf_Ehdr header;
	int ret;

	*s = (struct debug_sections){.source = xcalloc(1, sizeof(*s->source))};
	s->source->is_lazy = is_lazy;
	pthread_mutex_init(&s->source->lock, NULL);
	ret = binary_open(&s->source->binary, fd, &local);
	if (ret == 0 && gelf_getehdr(s->source->binary->elf, &header)) {
		struct binary *b = s->source->binary;

		if (places && places->count)
			binary_place_sections(b, places);
		s->view.machine = b->machine;
		s->view.is_64bit = header.e_ident[EI_CLASS] == ELFCLASS64;
		s->first_vaddr = b->first_vaddr;
		s->source->budget = b->file_size * MAX_INFLATION + FREE_INFLATION;
		if (s->source->budget > memory / 2)
			s->source->budget = memory / 2;
		if (folder && !b->is_relocatable)
			s->source->kept = kept_sections_open(folder, fd, DEBUG_SECTION_COUNT);
		ret = read_sections(s, use, &local);
	}
	if (ret) {
		debug_sections_release(s);
		return error_text(err, local.code, "%s", local.text);
	}
	/* libelf has read everything that will ever be needed. */
	elf_cntl(s->source->binary->elf, ELF_C_FDDONE);
	return 0;
}

int debug_sections_open(struct debug_sections *s, int fd, enum debug_file_use use,
			struct error *err)
{
	return open_sections(s, fd, use, false, NULL, NULL, err);
}

int debug_sections_open_lazily(struct debug_sections *s, int fd,
			       const struct section_places *places, const char *folder,
			       struct error *err)
{
	return open_sections(s, fd, DEBUG_FILE_WHOLE, true, places, folder, err);
}

/* With the lock held. */
static bool unpack_more(const struct debug_sections *s, enum debug_section_kind kind, uint64_t end)
{
	struct packed_section *part = &s->source->packed[kind];
	struct error err = {0};

	if (part->there >= end || !part->size)
		return true;
	end = (end + UNPACK_STEP - 1) & ~(UNPACK_STEP - 1);
	return unpack_part(s->source, part, (uint8_t *)s->view.at[kind].data, MIN(end, part->size),
			   &err) == 0;
}

bool debug_sections_need(const struct debug_sections *s, enum debug_section_kind kind,
			 uint64_t start, uint64_t end)
{
	struct paged_section *paged = &s->source->paged[kind];
	bool is_there;

	if (start > end || end > s->view.at[kind].size)
		return false;
	pthread_mutex_lock(&s->source->lock);
	is_there = paged->memory ? paged_section_need(paged, start, end)
				 : unpack_more(s, kind, end);
	pthread_mutex_unlock(&s->source->lock);
	return is_there;
}

static void keep(const struct debug_sections *s)
{
	struct kept_part parts[DEBUG_SECTION_COUNT];

	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		const struct packed_section *part = &s->source->packed[kind];

		parts[kind] = (struct kept_part){s->view.at[kind].data, part->size, part->there};
		if (!parts[kind].data)
			parts[kind] = (struct kept_part){0};
	}
	kept_sections_store(s->source->kept, parts);
}

void debug_sections_release(struct debug_sections *s)
{
	if (!s->source)
		return;
	if (s->source->kept)
		keep(s);
	kept_sections_free(s->source->kept);
	vec_for_each(&s->source->unpacked, struct mapping *, it)
		munmap(it->start, it->size);
	vec_release(&s->source->unpacked);
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		unpacker_free(s->source->packed[kind].unpacker);
		paged_section_release(&s->source->paged[kind]);
	}
	pthread_mutex_destroy(&s->source->lock);
	binary_free(s->source->binary);
	free(s->source);
	*s = (struct debug_sections){0};
}
