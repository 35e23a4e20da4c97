/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/hotspot.h"

bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *to, size_t size)
{
	return m->read(m->ctx, addr, to, size);
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
