/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/build_id.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/index.h"

/* ELF_NOTE_GOBUILDID_TAG; its desc is a text. */
#define GO_BUILD_ID 4

static void add_gnu(struct build_ids *ids, const void *desc, size_t size)
{
	/* The kernel takes no longer ones, either. */
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

bool build_ids_add(struct build_ids *ids, const void *notes, size_t size, uint64_t alignment)
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

size_t build_ids_choose(const struct build_ids *ids, uint8_t build_id[BUILD_ID_MAX])
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
