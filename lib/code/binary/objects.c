/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/objects.h"

#include <endian.h>
#include <gelf.h>

#include "lib/base/open_file.h"
#include "lib/code/binary/symbols.h"

/*
 * Looks up exported symbols by name like the dynamic linker: by the hash table of .gnu.hash, which
 * takes reading a few words. Untrusted, as in binary.h.
 */

struct gnu_hash {
	int fd;
	uint64_t bloom, buckets, chains, end; /* file offsets */
	uint32_t bloom_words, bloom_shift, bucket_count;
	uint32_t first; /* number of the first symbol with a chain */
	/* .dynsym: offset in the file, count, size of a row */
	uint64_t symbols, symbol_count, row_size;
	uint64_t names, names_size; /* .dynstr: offset and size */
};

/* Longer names are not looked up. */
#define NAME_MAX_BYTES 256
/* Limit of symbols to examine in one chain; ends a forged one. */
#define CHAIN_MAX 1024

static bool read_part(const struct gnu_hash *h, uint64_t at, void *out, size_t size)
{
	return read_at(h->fd, out, size, at) == (ssize_t)size;
}

/* Finds the table's .dynsym and its names. */
static bool find_symbols(struct gnu_hash *h, const struct binary *b, const GElf_Shdr *table)
{
	Elf_Scn *scn = elf_getscn(b->elf, table->sh_link);
	GElf_Shdr header;

	h->row_size = symbol_row_size(b);
	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNSYM ||
	    !section_is_in_file(b, &header))
		return false;
	h->symbols = header.sh_offset;
	h->symbol_count = header.sh_size / h->row_size;
	scn = elf_getscn(b->elf, header.sh_link);
	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type != SHT_STRTAB ||
	    !section_is_in_file(b, &header))
		return false;
	h->names = header.sh_offset;
	h->names_size = header.sh_size;
	return true;
}

/* Words of the bloom filter have the size of an address. */
static uint64_t bloom_size(const struct gnu_hash *h)
{
	return h->row_size == sizeof(Elf64_Sym) ? 8 : 4;
}

/* Returns false if the table is missing or lies outside the file. */
static bool gnu_hash_open(struct gnu_hash *h, const struct binary *b)
{
	uint32_t head[4];
	GElf_Shdr header;

	*h = (struct gnu_hash){.fd = b->fd};
	if (!section_of_type(b->elf, NULL, SHT_GNU_HASH, &header) ||
	    !section_is_in_file(b, &header) || header.sh_size < sizeof(head) ||
	    !find_symbols(h, b, &header) || !read_part(h, header.sh_offset, head, sizeof(head)))
		return false;
	h->bucket_count = head[0];
	h->first = head[1];
	h->bloom_words = head[2];
	h->bloom_shift = head[3] & 31; /* shift of 32-bit hashes */
	h->bloom = header.sh_offset + sizeof(head);
	h->buckets = h->bloom + h->bloom_words * bloom_size(h);
	h->chains = h->buckets + h->bucket_count * sizeof(uint32_t);
	h->end = header.sh_offset + header.sh_size;
	return h->bucket_count && h->bloom_words && h->chains <= h->end;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool may_have(const struct gnu_hash *h, uint32_t hash)
{
	uint64_t size = bloom_size(h), bits = size * 8, word = 0;

	return read_part(h, h->bloom + hash / bits % h->bloom_words * size, &word, size) &&
	       word >> hash % bits & word >> (hash >> h->bloom_shift) % bits & 1;
}

static bool read_symbol(const struct gnu_hash *h, uint64_t number, GElf_Sym *symbol)
{
	uint8_t row[sizeof(Elf64_Sym)];

	if (number >= h->symbol_count ||
	    !read_part(h, h->symbols + number * h->row_size, row, h->row_size))
		return false;
	symbol_row_read(row, h->row_size, symbol);
	return true;
}

static bool is_named(const struct gnu_hash *h, const GElf_Sym *symbol, const char *name)
{
	size_t size = strlen(name) + 1;
	char own[NAME_MAX_BYTES];

	return size <= sizeof(own) && symbol->st_name < h->names_size &&
	       h->names_size - symbol->st_name >= size &&
	       read_part(h, h->names + symbol->st_name, own, size) && memcmp(own, name, size) == 0;
}

/* Returns false if no symbol of this name is exported. */
static bool gnu_hash_find(const struct gnu_hash *h, const char *name, GElf_Sym *symbol)
{
	uint32_t hash = hash_name(name), number, chain;

	if (!may_have(h, hash) ||
	    !read_part(h, h->buckets + hash % h->bucket_count * sizeof(number), &number,
		       sizeof(number)) ||
	    number < h->first)
		return false;
	for (int i = 0; i < CHAIN_MAX; i++, number++) {
		uint64_t at = h->chains + (uint64_t)(number - h->first) * sizeof(chain);

		if (at >= h->end || !read_part(h, at, &chain, sizeof(chain)))
			return false;
		if ((chain | 1) == (hash | 1) && read_symbol(h, number, symbol) &&
		    is_named(h, symbol, name))
			return true;
		/* The lowest bit marks the end. */
		if (chain & 1)
			return false;
	}
	return false;
}

static void take_entry(const GElf_Dyn *entry, struct lazy_names *names,
		       struct binary_needed *needed)
{
	bool is_name = entry->d_tag == DT_NEEDED, is_path = entry->d_tag == DT_RUNPATH;
	const char *text = NULL;

	if (is_name || is_path || entry->d_tag == DT_RPATH)
		text = lazy_names_get(names, entry->d_un.d_val);
	if (!text || !*text)
		return;
	if (is_name && needed->count < BINARY_NEEDED_MAX)
		needed->names[needed->count++] = text;
	else if (is_path || (!is_name && !needed->run_path))
		needed->run_path = text;
}

/* Entries of the dynamic section. */
struct dynamic {
	Elf_Data *data; /* NULL: no table */
	size_t count, next;
	size_t names; /* section with the symbol names */
};

static void open_dynamic(const struct binary *b, struct dynamic *d)
{
	size_t size = gelf_fsize(b->elf, ELF_T_DYN, 1, EV_CURRENT);
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	*d = (struct dynamic){0};
	if (!data || !data->d_buf || !size)
		return;
	d->data = data;
	d->count = MIN(data->d_size / size, (size_t)INT32_MAX);
	d->names = header.sh_link;
}

static bool next_entry(struct dynamic *d, GElf_Dyn *entry)
{
	return d->next < d->count && gelf_getdyn(d->data, (int)d->next++, entry) &&
	       entry->d_tag != DT_NULL;
}

void binary_find_needed(const struct binary *b, struct binary_needed *needed)
{
	struct lazy_names *names;
	struct dynamic d;
	GElf_Dyn entry;

	*needed = (struct binary_needed){0};
	open_dynamic(b, &d);
	names = d.data ? lazy_names_open(b, d.names) : NULL;
	while (names && next_entry(&d, &entry))
		take_entry(&entry, names, needed);
}

bool binary_has_soname(const struct binary *b)
{
	struct dynamic d;
	GElf_Dyn entry;

	open_dynamic(b, &d);
	while (next_entry(&d, &entry)) {
		if (entry.d_tag == DT_SONAME)
			return true;
	}
	return false;
}

/* Limits against forged files. */
#define MAX_SEGMENTS 1024
#define MAX_RELOCATION_TABLES 8
#define MAX_RELOCATIONS ((size_t)1 << 20) /* total for all tables */
#define MAX_NAMES ((uint64_t)1 << 30) /* total bytes */

/* Bytes of names to search at once. */
#define NAMES_STEP ((size_t)64 << 10)

Elf_Scn *section_of_type(Elf *elf, Elf_Scn *scn, uint32_t type, GElf_Shdr *header)
{
	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, header) && header->sh_type == type)
			return scn;
	}
	return NULL;
}

bool section_is_in_file(const struct binary *b, const GElf_Shdr *header)
{
	return header->sh_offset <= b->file_size &&
	       header->sh_size <= b->file_size - header->sh_offset;
}

/* Objects to find, and hashes of the first characters of names not found yet. */
struct search {
	struct binary_object *wanted;
	size_t count, left;
	bool begins[256]; /* by hash_begin() */
};

static uint8_t hash_begin(const char *name)
{
	return (uint8_t)(*name ? (uint8_t)name[0] * 31 + (uint8_t)name[1] : 0);
}

static void begin_search(struct search *s)
{
	memset(s->begins, 0, sizeof(s->begins));
	s->left = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->wanted[i].is_there)
			continue;
		s->begins[hash_begin(s->wanted[i].name)] = true;
		s->left++;
	}
}

static void take_object(struct binary_object *object, const GElf_Sym *symbol)
{
	object->is_there = true;
	object->vaddr = symbol->st_value;
	object->size = symbol->st_size;
}

static void take_symbol(struct search *s, const GElf_Sym *symbol, const char *name)
{
	if (!name || !*name || !s->begins[hash_begin(name)] || symbol->st_shndx == SHN_UNDEF)
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct binary_object *object = &s->wanted[i];

		if (object->is_there || *object->name != *name || strcmp(object->name, name) != 0)
			continue;
		take_object(object, symbol);
		begin_search(s);
		return;
	}
}

static void search_table(const struct binary *b, uint32_t type, struct search *s)
{
	struct symbol_rows rows;
	GElf_Sym symbol;

	if (!symbol_rows_open(&rows, b, type))
		return;
	symbol_rows_need_names(&rows);
	while (s->left && symbol_rows_next(&rows, &symbol))
		take_symbol(s, &symbol, symbol_rows_name(&rows, &symbol));
	symbol_rows_close(&rows);
}

/*
 * Returns false if no symbol in .symtab has this name. Searches only the names, in a small buffer:
 * reading all symbols of a large program takes several times as long, and few programs have a
 * runtime's symbol.
 */
static bool may_be_named(const struct binary *b, const char *name)
{
	_cleanup_free_ char *step = NULL;
	size_t size = strlen(name) + 1;
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_SYMTAB, &header);
	uint64_t at = 0;

	if (!scn)
		return false;
	scn = elf_getscn(b->elf, header.sh_link);
	if (!scn || !gelf_getshdr(scn, &header) || header.sh_size > MAX_NAMES)
		return true;
	step = xmalloc(NAMES_STEP);
	while (header.sh_size - at >= size) {
		ssize_t n = read_at(b->fd, step, MIN(NAMES_STEP, header.sh_size - at),
				    header.sh_offset + at);

		/* A name may straddle the end of a step. */
		if (n < (ssize_t)size || memmem(step, (size_t)n, name, size))
			return true;
		at += (size_t)n - (size - 1);
	}
	return false;
}

void binary_find_exported(const struct binary *b, struct binary_object *wanted, size_t count)
{
	struct search s = {.wanted = wanted, .count = count};
	struct gnu_hash hash;
	GElf_Sym symbol;

	if (b->is_relocatable)
		return;
	if (!gnu_hash_open(&hash, b)) {
		begin_search(&s);
		search_table(b, SHT_DYNSYM, &s);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!wanted[i].is_there && gnu_hash_find(&hash, wanted[i].name, &symbol) &&
		    symbol.st_shndx != SHN_UNDEF)
			take_object(&wanted[i], &symbol);
	}
}

void binary_find_objects(const struct binary *b, struct binary_object *wanted, size_t count)
{
	struct search s = {.wanted = wanted, .count = count};

	if (b->is_relocatable)
		return;
	binary_find_exported(b, wanted, count);
	begin_search(&s);
	if (s.left)
		search_table(b, SHT_SYMTAB, &s);
}

void binary_find_mark(const struct binary *b, struct binary_object *mark)
{
	struct search s = {.wanted = mark, .count = 1};

	if (b->is_relocatable)
		return;
	binary_find_exported(b, mark, 1);
	begin_search(&s);
	if (s.left && !binary_has_soname(b) && may_be_named(b, mark->name))
		search_table(b, SHT_SYMTAB, &s);
}

bool binary_section_extent(const struct binary *b, const char *name, uint64_t *vaddr,
			   uint64_t *size)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(b->elf, scn))) {
		const char *own;

		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_ALLOC))
			continue;
		own = string_table_get(&b->section_names, header.sh_name);
		if (!own || strcmp(own, name) != 0)
			continue;
		*vaddr = header.sh_addr;
		*size = header.sh_size;
		return true;
	}
	return false;
}

/* Finds the file offset of bytes that a segment loads. */
static bool find_bytes(const struct binary *b, uint64_t vaddr, size_t size, int64_t *offset)
{
	size_t segments = 0;

	if (elf_getphdrnum(b->elf, &segments) != 0)
		return false;
	for (size_t i = 0; i < segments && i < MAX_SEGMENTS; i++) {
		GElf_Phdr header;
		uint64_t from;

		if (!gelf_getphdr(b->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    vaddr < header.p_vaddr)
			continue;
		from = vaddr - header.p_vaddr;
		if (from > header.p_filesz || header.p_filesz - from < size)
			continue;
		return !__builtin_add_overflow(header.p_offset, from, offset);
	}
	return false;
}

/* Relocates the words in `out`, which represents [vaddr, vaddr + size). */
static void relocate_section(const struct binary *b, Elf_Scn *scn, uint64_t vaddr, uint8_t *out,
			     size_t size, size_t *left)
{
	uint32_t relative = b->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	size_t row_size = gelf_fsize(b->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !data->d_buf || !row_size)
		return;
	for (size_t i = 0; i < data->d_size / row_size && *left; i++, --*left) {
		GElf_Rela rela;
		uint64_t word;

		if (!gelf_getrela(data, (int)i, &rela) || rela.r_offset < vaddr ||
		    rela.r_offset - vaddr > size - sizeof(word) ||
		    GELF_R_TYPE(rela.r_info) != relative)
			continue;
		word = htole64((uint64_t)rela.r_addend);
		memcpy(out + (rela.r_offset - vaddr), &word, sizeof(word));
	}
}

bool binary_read_text(const struct binary *b, uint64_t vaddr, void *out, size_t size)
{
	Elf_Data *data;
	int64_t offset;

	if (!size || !find_bytes(b, vaddr, size, &offset))
		return false;
	data = elf_getdata_rawchunk(b->elf, offset, size, ELF_T_BYTE);
	if (!data || !data->d_buf || data->d_size != size)
		return false;
	memcpy(out, data->d_buf, size);
	return true;
}

bool binary_read_loaded(const struct binary *b, uint64_t vaddr, void *out, size_t size)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t left = MAX_RELOCATIONS;
	int tables = 0;

	if (!binary_read_text(b, vaddr, out, size))
		return false;
	while (size >= sizeof(uint64_t) && tables++ < MAX_RELOCATION_TABLES &&
	       (scn = section_of_type(b->elf, scn, SHT_RELA, &header))) {
		if (header.sh_flags & SHF_ALLOC)
			relocate_section(b, scn, vaddr, out, size, &left);
	}
	return true;
}
