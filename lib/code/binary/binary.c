/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/binary.h"

#include <elf.h>
#include <endian.h>
#include <gelf.h>

#include "lib/base/bytes.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/symbols.h"

/*
 * Reads the build id from the notes of an ELF file: GNU's, or Go's if its linker left no other.
 * Private to this room; others use binary.h.
 */

/* Build ids found in notes. A zeroed struct has none. */
struct build_ids {
	uint8_t gnu_size, go_size; /* 0: no such id */
	uint8_t gnu[BUILD_ID_MAX];
	uint8_t go[BUILD_ID_MAX]; /* hash of Go's own id, a string of some 80 characters */
};

/* ELF_NOTE_GOBUILDID_TAG; its descriptor is a string. */
#define GO_BUILD_ID 4

static void add_gnu(struct build_ids *ids, const void *desc, size_t size)
{
	/* The kernel does not accept longer ids either. */
	if (ids->gnu_size || !size || size > BUILD_ID_MAX)
		return;
	memcpy(ids->gnu, desc, size);
	ids->gnu_size = (uint8_t)size;
}

static void add_go(struct build_ids *ids, const void *desc, size_t size)
{
	uint64_t parts[3];

	if (ids->go_size || !size)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i] = htole64(hash_bytes(desc, size, i + 1));
	memcpy(ids->go, parts, sizeof(ids->go));
	ids->go_size = sizeof(ids->go);
}

/*
 * Reads the bytes of a note segment or section with that alignment. Keeps ids found earlier;
 * ignores those longer than BUILD_ID_MAX. True once there is a GNU one.
 */
static bool build_ids_add(struct build_ids *ids, const void *notes, size_t size, uint64_t alignment)
{
	struct bytes b;

	/* Notes of .note.gnu.property are padded to 8, all others to 4 whatever the header says. */
	alignment = alignment == 8 ? 8 : 4;
	bytes_init(&b, notes, size);
	while (bytes_left(&b) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = bytes_u32(&b);
		uint32_t desc_size = bytes_u32(&b);
		uint32_t type = bytes_u32(&b);
		const char *name = bytes_take(&b, name_size);
		const void *desc;

		bytes_align(&b, alignment);
		desc = bytes_take(&b, desc_size);
		if (b.failed)
			break;
		if (name_size == 4 && type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4))
			add_gnu(ids, desc, desc_size);
		/* Go counts the padding as part of the name. */
		else if (name_size == 4 && type == GO_BUILD_ID && !memcmp(name, "Go\0", 4))
			add_go(ids, desc, desc_size);
		bytes_align(&b, alignment);
	}
	return ids->gnu_size;
}

/* Returns the size of the GNU build id, else of Go's; 0: none. */
static size_t build_ids_choose(const struct build_ids *ids, uint8_t build_id[BUILD_ID_MAX])
{
	if (ids->gnu_size)
		memcpy(build_id, ids->gnu, ids->gnu_size);
	else if (ids->go_size)
		memcpy(build_id, ids->go, ids->go_size);
	return ids->gnu_size ? ids->gnu_size : ids->go_size;
}

void build_id_to_text(const uint8_t *build_id, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	if (size > BUILD_ID_MAX)
		size = BUILD_ID_MAX;
	for (size_t i = 0; i < size; i++) {
		*text++ = digits[build_id[i] >> 4];
		*text++ = digits[build_id[i] & 15];
	}
	*text = '\0';
}

static Elf_Scn *find_section(const struct binary *b, const char *name, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		const char *own;

		if (!gelf_getshdr(scn, header) || header->sh_type == SHT_NOBITS)
			continue;
		own = string_table_get(&b->section_names, header->sh_name);
		if (own && strcmp(own, name) == 0)
			return scn;
	}
	return NULL;
}

bool binary_section_vaddr(const struct binary *b, const char *name, uint64_t *vaddr)
{
	GElf_Shdr header;

	if (!find_section(b, name, &header))
		return false;
	*vaddr = header.sh_addr;
	return true;
}

int binary_read_section(const struct binary *b, const char *name, size_t max, uint8_t **data,
			size_t *size, struct error *err)
{
	GElf_Shdr header;
	GElf_Chdr compression;
	Elf_Scn *scn = find_section(b, name, &header);
	Elf_Data *found;

	if (!scn)
		return error_text(err, -ENOENT, "no section %s", name);
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &compression))
			return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
		if (compression.ch_size > max)
			return error_text(err, -EFBIG, "%s is too large", name);
		if (elf_compress(scn, 0, 0) < 0)
			return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
	} else if (header.sh_size > max) {
		return error_text(err, -EFBIG, "%s is too large", name);
	}
	found = elf_rawdata(scn, NULL);
	if (!found || (found->d_size && !found->d_buf))
		return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
	*data = xmemdup(found->d_buf, found->d_size);
	*size = found->d_size;
	return 0;
}

#define PIECE_SIZE ((size_t)256 << 10)

bool binary_search_section(const struct binary *b, const char *name, uint64_t max,
			   binary_piece_fn *take_piece, void *ctx)
{
	_cleanup_free_ uint8_t *piece = NULL;
	GElf_Shdr header;
	size_t kept = 0;

	if (!find_section(b, name, &header) || header.sh_flags & SHF_COMPRESSED ||
	    header.sh_size > max || !section_is_in_file(b, &header))
		return false;
	piece = xmalloc(PIECE_SIZE);
	for (uint64_t at = 0; at < header.sh_size;) {
		size_t size = (size_t)MIN(header.sh_size - at, PIECE_SIZE - kept);
		ssize_t got = pread(b->fd, piece + kept, size, (off_t)(header.sh_offset + at));

		if (got <= 0)
			return false;
		at += (size_t)got;
		size = kept + (size_t)got;
		if (!take_piece(ctx, piece, size))
			return true;
		kept = MIN(size, (size_t)BINARY_PIECE_OVERLAP);
		memmove(piece, piece + size - kept, kept);
	}
	return true;
}

/*
 * Addresses for the sections of relocatable files, to which linkers assign none. For a loaded
 * kernel module, the section addresses may be known; otherwise they follow the kernel's loader:
 * sections with code lie one after the other in the order of the section headers, except those that
 * the loader discards once the module has started.
 */

/* Start of code. Not 0, which in debug information means "no code". */
#define CODE_START ((uint64_t)1 << 20)
/* Address of unplaced sections: never looked up, and outside all placed sections. */
#define NOWHERE ((uint64_t)1 << 62)
/* Limits that no section of a loadable file reaches. */
#define MAX_SECTION ((uint64_t)1 << 32)
#define MAX_ALIGNMENT ((uint64_t)1 << 20)

struct placing {
	const struct section_places *places;
	uint64_t code_end, nowhere_end;
};

/* Returns the next free address after `end`. */
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

#define PAGE_BYTES 4096
/*
 * The first page has the segment headers, the last the section headers, which change with any
 * section's size.
 */
#define PAGES 8

uint64_t binary_contents_hash(int fd)
{
	struct stat st;
	uint64_t size, last, hash;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return 0;
	size = (uint64_t)st.st_size;
	last = size > PAGE_BYTES ? size - PAGE_BYTES : 0;
	hash = hash_u64(size);
	for (uint64_t i = 0; i < PAGES; i++) {
		uint8_t page[PAGE_BYTES];
		uint64_t at = i < PAGES - 1 ? last / (PAGES - 1) * i : last;
		ssize_t got = read_at(fd, page, sizeof(page), at);

		if (got < 0)
			return 0;
		hash = hash_bytes(page, (size_t)got, hash);
	}
	return hash ? hash : 1;
}

#define MAX_SEGMENTS 1024
/*
 * Real note segments have some hundred bytes; a forged size must not cause the whole file to be
 * read.
 */
#define MAX_NOTE_BYTES 65536
#define MAX_NOTE_SEGMENTS 16
#define MAX_SECTIONS 4096

struct elf_header {
	bool is_64bit;
	uint16_t machine, phentsize, shentsize, shnum;
	uint32_t phnum;
	uint64_t phoff, shoff;
};

struct section_header {
	uint32_t type;
	uint64_t offset, size, align;
};

struct program_header {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_size, align;
};

static int read_header(int fd, struct elf_header *header, struct error *err)
{
	uint8_t raw[sizeof(Elf64_Ehdr)] = {0};
	ssize_t n = read_at(fd, raw, sizeof(raw), 0);
	struct bytes b;

	if (n < 0)
		return error_set(err, (int)n, "cannot read ELF header");
	if ((size_t)n < sizeof(Elf32_Ehdr) || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return error_text(err, -ENOEXEC, "not an ELF file");
	if (raw[EI_DATA] != ELFDATA2LSB || raw[EI_CLASS] < ELFCLASS32 || raw[EI_CLASS] > ELFCLASS64)
		return error_text(err, -ENOEXEC, "unsupported byte order or class of an ELF file");
	*header = (struct elf_header){.is_64bit = raw[EI_CLASS] == ELFCLASS64};
	bytes_init(&b, raw, (size_t)n);
	bytes_skip(&b, EI_NIDENT + 2);
	header->machine = bytes_u16(&b);
	bytes_skip(&b, 4);
	if (header->is_64bit) {
		bytes_skip(&b, 8);
		header->phoff = bytes_u64(&b);
		header->shoff = bytes_u64(&b);
	} else {
		bytes_skip(&b, 4);
		header->phoff = bytes_u32(&b);
		header->shoff = bytes_u32(&b);
	}
	bytes_skip(&b, 6);
	header->phentsize = bytes_u16(&b);
	header->phnum = bytes_u16(&b);
	header->shentsize = bytes_u16(&b);
	header->shnum = bytes_u16(&b);
	return b.failed ? error_text(err, -ENOEXEC, "truncated ELF header") : 0;
}

/* The first section header's sh_info has the count of more than 65,534 program headers. */
static uint32_t extended_phnum(int fd, const struct elf_header *header)
{
	uint8_t raw[sizeof(Elf64_Shdr)];
	size_t size = header->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	size_t at = header->is_64bit ? offsetof(Elf64_Shdr, sh_info)
				     : offsetof(Elf32_Shdr, sh_info);
	struct bytes b;

	if (read_at(fd, raw, size, header->shoff) != (ssize_t)size)
		return 0;
	bytes_init(&b, raw + at, sizeof(uint32_t));
	return bytes_u32(&b);
}

static struct program_header parse_program_header(struct bytes b, bool is_64bit)
{
	struct program_header ph = {.type = bytes_u32(&b)};

	if (is_64bit) {
		ph.flags = bytes_u32(&b);
		ph.offset = bytes_u64(&b);
		ph.vaddr = bytes_u64(&b);
		bytes_skip(&b, 8);
		ph.file_size = bytes_u64(&b);
		bytes_skip(&b, 8);
		ph.align = bytes_u64(&b);
	} else {
		ph.offset = bytes_u32(&b);
		ph.vaddr = bytes_u32(&b);
		bytes_skip(&b, 4);
		ph.file_size = bytes_u32(&b);
		bytes_skip(&b, 4);
		ph.flags = bytes_u32(&b);
		ph.align = bytes_u32(&b);
	}
	return ph;
}

static struct section_header parse_section_header(const uint8_t *raw, bool is_64bit)
{
	struct section_header sh;
	struct bytes b;

	bytes_init(&b, raw, is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	bytes_skip(&b, 4);
	sh.type = bytes_u32(&b);
	if (is_64bit) {
		bytes_skip(&b, 16);
		sh.offset = bytes_u64(&b);
		sh.size = bytes_u64(&b);
		bytes_skip(&b, 8);
		sh.align = bytes_u64(&b);
	} else {
		bytes_skip(&b, 8);
		sh.offset = bytes_u32(&b);
		sh.size = bytes_u32(&b);
		bytes_skip(&b, 8);
		sh.align = bytes_u32(&b);
	}
	return sh;
}

static void read_notes(int fd, uint64_t offset, uint64_t file_size, uint64_t align,
		       struct build_ids *ids)
{
	size_t size = file_size < MAX_NOTE_BYTES ? (size_t)file_size : MAX_NOTE_BYTES;
	_cleanup_free_ void *data = xmalloc(size + 1);
	ssize_t n = read_at(fd, data, size, offset);

	if (n > 0)
		build_ids_add(ids, data, (size_t)n, align);
}

/* Go's linker does not put the GNU build id into a note segment. */
static void read_note_sections(int fd, const struct elf_header *header, struct build_ids *ids)
{
	size_t needed = header->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), size;
	_cleanup_free_ uint8_t *table = NULL;
	unsigned int notes_read = 0;
	ssize_t n;

	if (!header->shnum || header->shentsize < needed)
		return;
	size = (size_t)header->shentsize *
	       (header->shnum < MAX_SECTIONS ? header->shnum : MAX_SECTIONS);
	table = xmalloc(size);
	n = read_at(fd, table, size, header->shoff);
	for (size_t at = 0; n > 0 && at + needed <= (size_t)n; at += header->shentsize) {
		struct section_header sh = parse_section_header(table + at, header->is_64bit);

		if (sh.type == SHT_NOTE && !ids->gnu_size && notes_read++ < MAX_NOTE_SEGMENTS)
			read_notes(fd, sh.offset, sh.size, sh.align, ids);
	}
}

static void read_segments(int fd, const struct elf_header *header, const void *table,
			  uint32_t count, struct binary_summary *summary)
{
	struct build_ids ids = {0};
	unsigned int notes_read = 0;

	summary->segments = xcalloc(count ? count : 1, sizeof(*summary->segments));
	for (uint32_t i = 0; i < count; i++) {
		struct program_header ph;
		struct bytes b;

		bytes_init(&b, (const uint8_t *)table + (size_t)i * header->phentsize,
			   header->phentsize);
		ph = parse_program_header(b, header->is_64bit);
		if (ph.type == PT_LOAD)
			summary->segments[summary->segment_count++] = (struct binary_segment){
				.file_offset = ph.offset,
				.file_size = ph.file_size,
				.vaddr = ph.vaddr,
				.executable = ph.flags & PF_X,
			};
		else if (ph.type == PT_NOTE && !ids.gnu_size && notes_read++ < MAX_NOTE_SEGMENTS)
			read_notes(fd, ph.offset, ph.file_size, ph.align, &ids);
	}
	if (!ids.gnu_size)
		read_note_sections(fd, header, &ids);
	summary->build_id_size = (uint8_t)build_ids_choose(&ids, summary->build_id);
}

int binary_summarize(int fd, struct binary_summary *summary, struct error *err)
{
	_cleanup_free_ void *table = NULL;
	struct elf_header header = {0};
	uint32_t count;
	ssize_t n;
	int ret;

	*summary = (struct binary_summary){0};
	ret = read_header(fd, &header, err);
	if (ret)
		return ret;
	summary->machine = header.machine;
	summary->is_64bit = header.is_64bit;
	count = header.phnum == PN_XNUM ? extended_phnum(fd, &header) : header.phnum;
	if (count > MAX_SEGMENTS)
		count = MAX_SEGMENTS;
	if (count == 0)
		return 0;
	if (header.phentsize < (header.is_64bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return error_text(err, -ENOEXEC, "invalid size of program headers");
	table = xmalloc((size_t)count * header.phentsize);
	n = read_at(fd, table, (size_t)count * header.phentsize, header.phoff);
	if (n < 0)
		return error_set(err, (int)n, "cannot read program headers");
	read_segments(fd, &header, table, (uint32_t)((size_t)n / header.phentsize), summary);
	return 0;
}

void binary_summary_release(struct binary_summary *summary)
{
	free(summary->segments);
	summary->segments = NULL;
	summary->segment_count = 0;
}

DEFINE_CLEANUP(struct binary *, binary_free)

/* Empty if the section does not hold strings or has no terminator. */
static struct string_table string_table_open(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const char *last;

	if (!data || !data->d_buf || !data->d_size)
		return (struct string_table){0};
	last = memrchr(data->d_buf, '\0', data->d_size);
	if (!last)
		return (struct string_table){0};
	return (struct string_table){data->d_buf, (size_t)(last - (const char *)data->d_buf) + 1};
}

const char *string_table_get(const struct string_table *table, uint64_t offset)
{
	return offset < table->size ? table->text + offset : NULL;
}

static void read_first_vaddr(struct binary *b)
{
	size_t count;

	if (elf_getphdrnum(b->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(b->elf, (int)i, &header) && header.p_type == PT_LOAD) {
			b->first_vaddr = header.p_vaddr;
			return;
		}
	}
}

/*
 * libelf searches for the end of every name from the end of the table: for each section, it would
 * search the whole of an unterminated table.
 */
static bool has_sane_names(Elf *elf, struct string_table *names)
{
	Elf_Scn *scn;
	GElf_Shdr header;
	size_t section;

	if (elf_getshdrstrndx(elf, &section) != 0)
		return false;
	if (section == SHN_UNDEF)
		return true;
	*names = string_table_open(elf, section);
	scn = elf_getscn(elf, section);
	return scn && gelf_getshdr(scn, &header) && names->size == header.sh_size;
}

int binary_open(struct binary **out, int fd, struct error *err)
{
	_cleanup_(binary_free) struct binary *b = xcalloc(1, sizeof(*b));
	struct stat st;
	GElf_Ehdr header;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_text(err, -ENOEXEC, "unsupported version of libelf");
	if (fstat(fd, &st) != 0)
		return error_set(err, -errno, "cannot stat a file");
	if (!S_ISREG(st.st_mode))
		return error_text(err, -ENOEXEC, "not a regular file");
	/* Never map the file: if it is truncated meanwhile, SIGBUS would kill the reader. */
	b->fd = fd;
	b->names = xcalloc(1, sizeof(struct lazy_names *));
	b->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!b->elf || elf_kind(b->elf) != ELF_K_ELF || !gelf_getehdr(b->elf, &header))
		return error_text(err, -ENOEXEC, "not an ELF file");
	if (header.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_text(err, -ENOEXEC, "not a little-endian ELF file");
	if (!has_sane_names(b->elf, &b->section_names))
		return error_text(err, -ENOEXEC, "section names are damaged");
	b->machine = header.e_machine;
	b->file_size = (uint64_t)st.st_size;
	b->is_relocatable = header.e_type == ET_REL;
	if (b->is_relocatable)
		binary_place_sections(b, &(struct section_places){0});
	else
		read_first_vaddr(b);
	*out = steal(b);
	return 0;
}

void binary_free(struct binary *b)
{
	if (!b)
		return;
	vec_release(&b->section_addrs);
	if (b->names)
		lazy_names_free(*b->names);
	free(b->names);
	elf_end(b->elf);
	free(b);
}

uint16_t binary_machine(const struct binary *b)
{
	return b->machine;
}

uint64_t binary_first_vaddr(const struct binary *b)
{
	return b->first_vaddr;
}

static void add_section_ids(const struct binary *b, struct build_ids *ids)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf &&
		    build_ids_add(ids, data->d_buf, data->d_size, header.sh_addralign))
			return;
	}
}

static void add_segment_ids(const struct binary *b, struct build_ids *ids)
{
	size_t count;

	if (elf_getphdrnum(b->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		Elf_Data *data;

		if (!gelf_getphdr(b->elf, (int)i, &header) || header.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(b->elf, (int64_t)header.p_offset, header.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_buf &&
		    build_ids_add(ids, data->d_buf, data->d_size, header.p_align))
			return;
	}
}

size_t binary_build_id(const struct binary *b, uint8_t build_id[BUILD_ID_MAX])
{
	struct build_ids ids = {0};

	add_section_ids(b, &ids);
	if (!ids.gnu_size)
		add_segment_ids(b, &ids);
	return build_ids_choose(&ids, build_id);
}

bool binary_has_section(const struct binary *b, const char *name)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS || !header.sh_size)
			continue;
		found = string_table_get(&b->section_names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return true;
	}
	return false;
}
