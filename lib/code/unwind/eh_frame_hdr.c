/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/eh_frame_hdr.h"

#include "lib/code/unwind/eh_frame.h"
#include "lib/code/unwind/pointer.h"

#define HDR_VERSION 1

static bool is_sorted(struct eh_frame_hdr hdr)
{
	uint64_t last = 0;

	while (bytes_left(&hdr.entries)) {
		uint64_t start = eh_frame_hdr_next(&hdr).start;

		if (start < last)
			return false;
		last = start;
	}
	return true;
}

void eh_frame_hdr_read(struct eh_frame_hdr *hdr, const struct cfi_section *section)
{
	uint8_t target_encoding, count_encoding, table_encoding;
	struct bytes b;
	uint64_t count;

	*hdr = (struct eh_frame_hdr){.base = section->vaddr};
	bytes_init(&b, section->data, section->size);
	if (bytes_u8(&b) != HDR_VERSION)
		return;
	target_encoding = bytes_u8(&b);
	count_encoding = bytes_u8(&b);
	table_encoding = bytes_u8(&b);
	if (target_encoding == POINTER_OMITTED)
		return;
	hdr->target = pointer_read(&b, target_encoding, section->vaddr, section->vaddr);
	if (b.failed)
		hdr->target = 0;
	if (count_encoding == POINTER_OMITTED)
		return;
	count = pointer_read(&b, count_encoding, section->vaddr, section->vaddr);
	if (table_encoding == (POINTER_DATA_RELATIVE | POINTER_S64))
		hdr->is_wide = true;
	else if (table_encoding != (POINTER_DATA_RELATIVE | POINTER_S32))
		return;
	if (b.failed || count > bytes_left(&b) / (hdr->is_wide ? 16 : 8))
		return;
	hdr->entries = bytes_sub(&b, count * (hdr->is_wide ? 16 : 8));
	if (is_sorted(*hdr))
		hdr->count = count;
}
