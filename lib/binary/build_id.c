/* SPDX-License-Identifier: MIT */
#include "lib/binary/build_id.h"

#include <elf.h>
#include <string.h>

#include "lib/base/bytes.h"

size_t build_id_find(const void *notes, size_t size, uint64_t alignment,
		     uint8_t build_id[BUILD_ID_MAX])
{
	struct bytes b;

	/* Notes of .note.gnu.property are padded to 8, all others to 4 whatever is said. */
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
			return 0;
		/* The kernel takes no longer ones either. */
		if (type == NT_GNU_BUILD_ID && name_size == sizeof("GNU") &&
		    memcmp(name, "GNU", sizeof("GNU")) == 0 && desc_size > 0 &&
		    desc_size <= BUILD_ID_MAX) {
			memcpy(build_id, desc, desc_size);
			return desc_size;
		}
		bytes_align(&b, alignment);
	}
	return 0;
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
