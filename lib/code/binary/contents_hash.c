/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "lib/base/index.h"
#include "lib/base/read_at.h"
#include "lib/code/binary/binary.h"

#define PAGE_BYTES 4096
/* The first has the headers of segments, the last those of sections, which differ with any size. */
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
