/* SPDX-License-Identifier: MIT */
/* .eh_frame_hdr: the linker's sorted table of FDEs (LSB core). */
#ifndef PROF_LIB_CODE_UNWIND_EH_FRAME_HDR_H
#define PROF_LIB_CODE_UNWIND_EH_FRAME_HDR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct cfi_section;

struct fde_place {
	uint64_t start; /* vaddr of the code */
	uint64_t vaddr; /* of the FDE */
};

struct eh_frame_hdr {
	uint64_t target; /* vaddr of .eh_frame; 0: not said */
	uint64_t count; /* entries in the table; 0: unusable */
	struct bytes entries; /* exactly those */
	uint64_t base; /* vaddr to which they are relative */
	bool is_wide; /* numbers have 8 bytes, else 4 */
};

/*
 * Never fails: a table that is unsorted, does not fit or is not of the kind that linkers make
 * counts as none. Takes time proportional to the table.
 */
void eh_frame_hdr_read(struct eh_frame_hdr *hdr, const struct cfi_section *section);
/* Returns the next entry, in order of address; hdr->entries must have one left. */
static inline struct fde_place eh_frame_hdr_next(struct eh_frame_hdr *hdr)
{
	struct fde_place place;

	if (hdr->is_wide) {
		place.start = hdr->base + bytes_u64(&hdr->entries);
		place.vaddr = hdr->base + bytes_u64(&hdr->entries);
	} else {
		uint64_t both = bytes_u64(&hdr->entries);

		place.start = hdr->base + (uint64_t)(int64_t)(int32_t)both;
		place.vaddr = hdr->base + (uint64_t)(int64_t)(int32_t)(both >> 32);
	}
	return place;
}

#endif
