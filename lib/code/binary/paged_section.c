/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/paged_section.h"

#include <stdlib.h>
#include <sys/param.h>

#include "lib/base/alloc.h"
#include "lib/base/read_at.h"

#define PAGE_BYTES 4096u
#define BITS 64u

void paged_section_init(struct paged_section *s, const struct file_part *from, uint8_t *memory)
{
	*s = (struct paged_section){
		.from = *from,
		.memory = memory,
		.there = xcalloc(from->size / PAGE_BYTES / BITS + 1, sizeof(*s->there)),
	};
}

static bool is_there(const struct paged_section *s, uint64_t page)
{
	return s->there[page / BITS] >> page % BITS & 1;
}

/* Reads pages of which none was read yet: others may be in use. */
static bool read_pages(struct paged_section *s, uint64_t first, uint64_t end)
{
	uint64_t at = first * PAGE_BYTES;
	uint64_t size = MIN(end * PAGE_BYTES, s->from.size) - at;

	if (read_at(s->from.fd, s->memory + at, size, s->from.offset + at) != (ssize_t)size)
		return false;
	for (; first < end; first++)
		s->there[first / BITS] |= (uint64_t)1 << first % BITS;
	return true;
}

bool paged_section_need(struct paged_section *s, uint64_t start, uint64_t end)
{
	uint64_t page = start / PAGE_BYTES, after = (end + PAGE_BYTES - 1) / PAGE_BYTES;

	while (page < after) {
		uint64_t first = page;

		while (page < after && !is_there(s, page))
			page++;
		if (page > first && !read_pages(s, first, page))
			return false;
		while (page < after && is_there(s, page))
			page++;
	}
	return true;
}

void paged_section_release(struct paged_section *s)
{
	free(s->there);
	*s = (struct paged_section){0};
}
