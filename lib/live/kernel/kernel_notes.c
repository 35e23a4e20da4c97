/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_notes.h"

#include <elf.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define NOTES_MAX (64u << 10)

void kernel_notes_read_build_id(const char *path, struct special_module *module)
{
	size_t size;
	_cleanup_free_ char *notes = text_read_file(path, NOTES_MAX, &size);
	struct bytes b;

	if (!notes)
		return;
	bytes_init(&b, notes, size);
	while (bytes_left(&b) >= 12) {
		uint32_t name_size = bytes_u32(&b), desc_size = bytes_u32(&b);
		uint32_t type = bytes_u32(&b);
		const char *name = bytes_take(&b, name_size);
		const uint8_t *desc;

		bytes_align(&b, 4);
		desc = bytes_take(&b, desc_size);
		bytes_align(&b, 4);
		if (!name || !desc)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) &&
		    desc_size <= sizeof(module->build_id)) {
			memcpy(module->build_id, desc, desc_size);
			module->build_id_size = (uint8_t)desc_size;
			return;
		}
	}
}
