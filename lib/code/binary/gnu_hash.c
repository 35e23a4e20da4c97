/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/gnu_hash.h"

#include <string.h>

#include "lib/base/read_at.h"
#include "lib/code/binary/symbol_rows.h"

/* Longer names are not looked up. */
#define NAME_MAX_BYTES 256
/* Symbols of one chain that are looked at; ends a forged one. */
#define CHAIN_MAX 1024

static bool read_part(const struct gnu_hash *h, uint64_t at, void *out, size_t size)
{
	return read_at(h->fd, out, size, at) == (ssize_t)size;
}

/* Finds .dynsym, to which the table belongs, and its names. */
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

/* The word of the bloom filter has the size of an address. */
static uint64_t bloom_size(const struct gnu_hash *h)
{
	return h->row_size == sizeof(Elf64_Sym) ? 8 : 4;
}

bool gnu_hash_open(struct gnu_hash *h, const struct binary *b)
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
	h->bloom_shift = head[3] & 31; /* of hashes, which have 32 bits */
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

bool gnu_hash_find(const struct gnu_hash *h, const char *name, GElf_Sym *symbol)
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
