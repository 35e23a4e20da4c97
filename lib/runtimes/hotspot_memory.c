/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/runtimes/hotspot.h"

#define PAGE_SIZE 1024 /* small: the bytes that are read are limited */
#define PAGES 64 /* kept; a power of two */

struct hotspot_pages {
	uint64_t addrs[PAGES]; /* 0: none */
	bool readable[PAGES];
	uint8_t bytes[PAGES][PAGE_SIZE];
};

void hotspot_memory_release(struct hotspot_memory *m)
{
	free(m->pages);
	m->pages = NULL;
}

/* Returns the page at an address; NULL: it is unreadable. */
static const uint8_t *find_page(struct hotspot_memory *m, uint64_t addr)
{
	size_t slot = (size_t)(addr / PAGE_SIZE) & (PAGES - 1);

	if (!m->pages)
		m->pages = xcalloc(1, sizeof(*m->pages));
	if (!addr)
		return NULL;
	if (m->pages->addrs[slot] != addr) {
		m->pages->addrs[slot] = addr;
		m->pages->readable[slot] = m->read(m->ctx, addr, m->pages->bytes[slot], PAGE_SIZE);
	}
	return m->pages->readable[slot] ? m->pages->bytes[slot] : NULL;
}

bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *to, size_t size)
{
	uint8_t *out = to;

	while (size) {
		size_t at = (size_t)(addr % PAGE_SIZE), part = PAGE_SIZE - at;
		const uint8_t *page = find_page(m, addr - at);

		if (!page)
			return false;
		if (part > size)
			part = size;
		memcpy(out, page + at, part);
		out += part;
		addr += part;
		size -= part;
	}
	return true;
}

bool hotspot_memory_word(struct hotspot_memory *m, uint64_t addr, void *word)
{
	return hotspot_memory_read(m, addr, word, sizeof(uint64_t));
}

bool hotspot_memory_int(struct hotspot_memory *m, uint64_t addr, uint32_t *value)
{
	return hotspot_memory_read(m, addr, value, sizeof(*value));
}

void hotspot_memory_text(struct hotspot_memory *m, uint64_t addr, char *text, size_t size)
{
	size_t i = 0;

	for (; i + 1 < size; i++) {
		if (!hotspot_memory_read(m, addr + i, text + i, 1) || !text[i])
			break;
	}
	text[i] = '\0';
}
