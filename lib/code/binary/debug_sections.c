/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/debug_sections.h"

#include <endian.h>
#include <gelf.h>
#include <pthread.h>
#include <sys/mman.h>

#include "lib/base/bytes.h"
#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/symbols.h"
#include "lib/code/binary/paged_section.h"
#include "lib/base/crc32.h"

/*
 * Caches unpacked sections of debug files for later runs until the machine's next start, in a
 * folder of the effective user. A cached file identifies its source by inode and change time, and
 * belongs to that user alone; all others are ignored.
 */

struct kept_sections;

/* A section, from its first byte on. */
struct kept_part {
	const void *data;
	uint64_t size; /* unpacked size of the whole section; 0: not cached */
	uint64_t there; /* number of bytes unpacked so far */
};

/*
 * Resolves references in the debug information of relocatable files, which the linker left open,
 * for given section addresses. Private to this room.
 */

/* Tables as in the file, perhaps unaligned. */
struct table {
	const uint8_t *rows;
	size_t count;
};

/* Returns the relocations of the section with that number; NULL: none. */
static Elf_Scn *relocations_find(const struct binary *b, size_t section)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
		    header.sh_info == section)
			return scn;
	}
	return NULL;
}

static struct table open_table(Elf_Scn *scn, size_t row_size)
{
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return (struct table){0};
	return (struct table){data->d_buf, data->d_size / row_size};
}

/* Returns the bytes of an absolute reference; 0: another kind. */
static size_t width_of(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_64			     ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
}

/* Returns the value of a symbol; symbols of other files have no known one. */
static uint64_t symbol_value(const struct binary *b, const struct table *symbols, size_t number)
{
	Elf64_Sym symbol;

	if (number >= symbols->count)
		return 0;
	memcpy(&symbol, symbols->rows + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx == SHN_ABS)
		return symbol.st_value;
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE)
		return 0;
	return symbol.st_value + section_addr(b, symbol.st_shndx, 0);
}

static void apply(const struct binary *b, const struct table *relocations,
		  const struct table *symbols, uint8_t *data, size_t size)
{
	for (size_t i = 0; i < relocations->count; i++) {
		Elf64_Rela rela;
		uint64_t value;
		size_t width;

		memcpy(&rela, relocations->rows + i * sizeof(rela), sizeof(rela));
		width = width_of(b->machine, ELF64_R_TYPE(rela.r_info));
		if (!width || width > size || rela.r_offset > size - width)
			continue;
		value = symbol_value(b, symbols, ELF64_R_SYM(rela.r_info)) +
			(uint64_t)rela.r_addend;
		/* The lower half comes first: little-endian. */
		value = htole64(value);
		memcpy(data + rela.r_offset, &value, width);
	}
}

/*
 * Fills in the references that x86-64 and arm64 have in debug information (psABI: absolute, 4 and 8
 * bytes) in a copy of the section's bytes. Ignores others: they lie in descriptions of code or
 * variables, which are never read. Returns -ENOEXEC if the file is damaged or for another kind of
 * machine.
 */
static int relocations_apply(const struct binary *b, Elf_Scn *relocations, uint8_t *data,
			     size_t size, struct error *err)
{
	struct table rows = open_table(relocations, sizeof(Elf64_Rela)), symbols;
	GElf_Shdr header;

	if (gelf_getclass(b->elf) != ELFCLASS64 ||
	    (b->machine != EM_X86_64 && b->machine != EM_AARCH64))
		return error_text(err, -ENOEXEC, "relocations for a different machine");
	if (!gelf_getshdr(relocations, &header) || (header.sh_flags & SHF_COMPRESSED))
		return error_text(err, -ENOEXEC, "damaged relocations");
	symbols = open_table(elf_getscn(b->elf, header.sh_link), sizeof(Elf64_Sym));
	apply(b, &rows, &symbols, data, size);
	return 0;
}

/* Version of the layout below and of the table of sections. */
#define MAGIC 0x3230646e754b5250ull
#define SECTIONS_MAX 16
/* A multiple of every machine's page size. */
#define ALIGNMENT ((uint64_t)64 << 10)
/* Smaller contents unpack as fast as a file opens; larger ones would push out many others. */
#define FILE_BYTES_MIN ((uint64_t)64 << 10)
#define FILE_BYTES_MAX ((uint64_t)32 << 20)

/*
 * Identifies the source file and the machine's start: device numbers change with a start, and data
 * written shortly before a crash may never have reached the disk.
 */
struct origin {
	uint64_t device, inode, size, changed_s, changed_ns;
	uint8_t boot[BOOT_ID_SIZE];
};

/* Each section has room for all of its bytes, so that more of them can be added. */
struct place {
	uint64_t offset, size, there;
};

struct header {
	uint64_t magic, count;
	struct origin origin;
	struct place places[SECTIONS_MAX];
};

_Static_assert(sizeof(struct header) <= ALIGNMENT, "the header stands before the first section");

struct kept_sections {
	char *folder, *name;
	int fd; /* -1: nothing is cached */
	struct header header; /* has no places if nothing is cached */
};

static uint64_t align(uint64_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool places_are_valid(const struct header *h, uint64_t file_size)
{
	for (size_t i = 0; i < SECTIONS_MAX; i++) {
		const struct place *p = &h->places[i];

		if (p->there > p->size || p->size > file_size || p->offset % ALIGNMENT ||
		    p->offset > file_size || align(p->size) > file_size - p->offset)
			return false;
	}
	return true;
}

/* Returns a descriptor and fills the header, or -1. */
static int open_kept(const struct kept_sections *k, struct header *found)
{
	_cleanup_close_ int folder = cache_folder_open(k->folder, false), fd = -1;
	const struct header *wanted = &k->header;
	struct stat st;

	if (folder >= 0)
		fd = openat(folder, k->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || !cache_file_is_own(&st) ||
	    read_at(fd, found, sizeof(*found), 0) != (ssize_t)sizeof(*found))
		return -1;
	if (found->magic != wanted->magic || found->count != wanted->count ||
	    memcmp(&found->origin, &wanted->origin, sizeof(found->origin)) != 0 ||
	    !places_are_valid(found, (uint64_t)st.st_size))
		return -1;
	/* Record the time of its last use. */
	futimens(fd, NULL);
	return steal_fd(&fd);
}

/* False: the boot id cannot be read. */
static bool set_origin(struct origin *origin, const struct stat *st)
{
	*origin = (struct origin){.device = st->st_dev,
				  .inode = st->st_ino,
				  .size = (uint64_t)st->st_size,
				  .changed_s = (uint64_t)st->st_ctim.tv_sec,
				  .changed_ns = (uint64_t)st->st_ctim.tv_nsec};
	return boot_id_read(origin->boot);
}

/*
 * Opens the cache of the file `fd`, with `count` sections; never fails, but may be empty. The
 * folder need not exist. Free with kept_sections_free().
 */
static struct kept_sections *kept_sections_open(const char *folder, int fd, unsigned int count)
{
	struct kept_sections *k = xcalloc(1, sizeof(*k));
	struct header found = {0};
	struct stat st = {0};

	k->fd = -1;
	if (count > SECTIONS_MAX || fstat(fd, &st) || !set_origin(&k->header.origin, &st))
		return k;
	k->header.magic = MAGIC;
	k->header.count = count;
	k->folder = xstrdup(folder);
	k->name = xasprintf("%llx-%llx", (unsigned long long)st.st_dev,
			    (unsigned long long)st.st_ino);
	k->fd = open_kept(k, &found);
	if (k->fd >= 0)
		k->header = found;
	return k;
}

/* Accepts NULL. */
static void kept_sections_free(struct kept_sections *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k->folder);
	free(k->name);
	free(k);
}

/*
 * Maps the cached part of a section of this unpacked size over private pages at `memory`. Returns
 * its bytes, 0 if there are none.
 */
static uint64_t kept_sections_map(const struct kept_sections *k, unsigned int section,
				  uint64_t size, void *memory)
{
	const struct place *p = &k->header.places[section];

	if (k->fd < 0 || p->size != size || !p->there)
		return 0;
	if (mmap(memory, (size_t)p->there, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, k->fd,
		 (off_t)p->offset) == MAP_FAILED)
		return 0;
	return p->there;
}

/*
 * Computes the layout of a new file with these parts. Returns its size, 0 if caching is not
 * worthwhile.
 */
static uint64_t lay_out(const struct kept_part *parts, struct header *header)
{
	uint64_t end = ALIGNMENT, there = 0;

	for (unsigned int i = 0; i < header->count; i++) {
		header->places[i] = (struct place){.offset = end, .size = parts[i].size};
		end += align(parts[i].size);
		there += parts[i].there;
		if (parts[i].size > FILE_BYTES_MAX || end > FILE_BYTES_MAX)
			return 0;
	}
	return there < FILE_BYTES_MIN ? 0 : end;
}

/* Returns a descriptor of a new, empty file, or -1. */
static int make_file(const struct kept_sections *k, int folder, const struct kept_part *parts,
		     struct header *header)
{
	uint64_t size = folder >= 0 ? lay_out(parts, header) : 0;
	_cleanup_close_ int fd = -1;

	if (!size)
		return -1;
	/* Another run may still use the old one. */
	unlinkat(folder, k->name, 0);
	fd = openat(folder, k->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -1;
	return steal_fd(&fd);
}

/* Adds the bytes of these `count` parts that are not cached yet. Failures are ignored. */
static void kept_sections_store(const struct kept_sections *k, const struct kept_part *parts)
{
	struct header header = k->header;
	bool is_new = k->fd < 0, is_fine = true, is_more = false;
	_cleanup_close_ int own = -1, folder = -1;
	struct stat st;
	int fd = k->fd;

	if (!k->name)
		return;
	if (is_new) {
		folder = cache_folder_open(k->folder, true);
		fd = own = make_file(k, folder, parts, &header);
	}
	for (unsigned int i = 0; fd >= 0 && i < header.count && is_fine; i++) {
		struct place *p = &header.places[i];
		uint64_t from = p->there;

		if (parts[i].size != p->size || parts[i].there <= from)
			continue;
		is_more = true;
		p->there = parts[i].there;
		is_fine = write_at(fd, (const uint8_t *)parts[i].data + from, p->there - from,
				   p->offset + from) == 0;
	}
	/* Write the header last: the file is not read without it. */
	if (is_more && is_fine)
		is_fine = write_at(fd, &header, sizeof(header), 0) == 0;
	if (is_new && fd >= 0 && !is_fine)
		unlinkat(folder, k->name, 0);
	if (is_new && is_more && is_fine && fstat(fd, &st) == 0)
		cache_folder_added(folder, (uint64_t)st.st_blocks * 512, CACHE_FOLDER_BYTES);
}

/*
 * Compilers' output shrinks to a fifth; data that shrink more than this were made to exhaust
 * memory.
 */
#define MAX_INFLATION 50
#define FREE_INFLATION ((uint64_t)64 << 20)

/* Minimum step: the next bytes needed are mostly near. */
#define UNPACK_STEP ((uint64_t)256 << 10)

/* Smaller uncompressed sections are read whole. */
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
	uint64_t size, there; /* unpacked bytes: total, and available to readers */
	struct unpacker *unpacker; /* NULL: not started, or the section is complete */
	/*
	 * Destination of the unpacked bytes: the section itself, or next to it if a cached part is
	 * mapped there.
	 */
	uint8_t *out;
};

struct debug_source {
	struct binary *binary;
	VEC(struct mapping) unpacked;
	uint64_t budget; /* number of bytes that may still be unpacked */
	bool is_lazy;
	struct kept_sections *kept; /* NULL: no cache */
	pthread_mutex_t lock; /* guards the members below */
	struct packed_section packed[DEBUG_SECTION_COUNT];
	/* Uncompressed sections; zeroed for others. */
	struct paged_section paged[DEBUG_SECTION_COUNT];
};

/* Header before the bytes of a compressed section. */
struct packed {
	enum packing packing; /* PACKING_NONE: not actually compressed */
	size_t header_size;
	uint64_t size; /* size after unpacking */
};

/* Finds the kind of a section such as ".debug_info" or ".zdebug_info", with or without ".dwo". */
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
		return error_text(err, -ENOEXEC, "unknown compression of a section");
	return 0;
}

/*
 * Reads "ZLIB" and the size, big-endian; without them, the section is uncompressed, since some
 * tools keep the name.
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

/* Reads only the header: of a large section, few bytes may be needed. */
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
		error_text(err, -EFBIG, "decompressed sections are too large");
		return NULL;
	}
	source->budget -= size;
	start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (start == MAP_FAILED) {
		error_set(err, -ENOMEM, "cannot decompress sections");
		return NULL;
	}
	vec_push(&source->unpacked, (struct mapping){start, whole + page});
	mprotect((uint8_t *)start + whole, page, PROT_NONE);
	return start;
}

/* Returns true for sections that each unit uses only a part of. */
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
		/* Do not write bytes that readers already use, not even equal ones. */
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
	/* Only zlib is unpacked in steps. */
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

/* Relocates a copy; unpacked bytes are already one. */
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
	/* libelf has read all it will ever need. */
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

#define MAX_LINK_SECTION 8192
#define READ_SIZE ((size_t)256 << 10)

bool debug_link_parse(struct debug_link *link, const void *data, size_t size)
{
	struct bytes b;
	const char *name;

	bytes_init(&b, data, size);
	name = bytes_cstr(&b);
	bytes_align(&b, 4);
	link->crc = bytes_u32(&b);
	if (b.failed || !*name || strlen(name) >= sizeof(link->name))
		return false;
	/* Keep the name from leading out of the searched folders. */
	if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	memcpy(link->name, name, strlen(name) + 1);
	return true;
}

bool alt_link_parse(struct alt_link *link, const void *data, size_t size)
{
	struct bytes b;
	const char *path;

	bytes_init(&b, data, size);
	path = bytes_cstr(&b);
	link->build_id_size = bytes_left(&b);
	if (b.failed || !*path || strlen(path) >= sizeof(link->path) || !link->build_id_size ||
	    link->build_id_size > sizeof(link->build_id))
		return false;
	memcpy(link->path, path, strlen(path) + 1);
	memcpy(link->build_id, bytes_take(&b, link->build_id_size), link->build_id_size);
	return true;
}

bool debug_link_read(struct debug_link *link, const struct binary *b)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;

	return binary_read_section(b, ".gnu_debuglink", MAX_LINK_SECTION, &data, &size, NULL) ==
		       0 &&
	       debug_link_parse(link, data, size);
}

bool alt_link_read(struct alt_link *link, const struct binary *b)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;

	return binary_read_section(b, ".gnu_debugaltlink", MAX_LINK_SECTION, &data, &size, NULL) ==
		       0 &&
	       alt_link_parse(link, data, size);
}

int crc32_of_file(int fd, uint64_t max_size, uint64_t deadline_ns, uint32_t *crc)
{
	_cleanup_free_ uint8_t *buf = xmalloc(READ_SIZE);
	uint64_t done = 0;

	*crc = 0;
	for (;;) {
		ssize_t n = pread(fd, buf, READ_SIZE, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		done += (uint64_t)n;
		if (done > max_size)
			return -EFBIG;
		if (deadline_ns && clock_monotonic_ns() > deadline_ns)
			return -ETIME;
		*crc = crc32_add(*crc, buf, (size_t)n);
	}
}
