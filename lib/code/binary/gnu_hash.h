/* SPDX-License-Identifier: MIT */
/*
 * Exported symbols by name, as the dynamic linker finds them: through the hash table of .gnu.hash,
 * of which a look-up reads some words. Untrusted, as in binary.h.
 */
#ifndef PROF_LIB_CODE_BINARY_GNU_HASH_H
#define PROF_LIB_CODE_BINARY_GNU_HASH_H

#include "lib/code/binary/handle.h"

struct gnu_hash {
	int fd;
	uint64_t bloom, buckets, chains, end; /* places in the file */
	uint32_t bloom_words, bloom_shift, bucket_count;
	uint32_t first; /* number of the first symbol that has a chain */
	uint64_t symbols, symbol_count, row_size; /* .dynsym; place in the file */
	uint64_t names, names_size; /* likewise */
};

/* False: the file has no such table, or one that does not lie in it. */
bool gnu_hash_open(struct gnu_hash *h, const struct binary *b);
/* False: no symbol of this name is exported. */
bool gnu_hash_find(const struct gnu_hash *h, const char *name, GElf_Sym *symbol);

#endif
