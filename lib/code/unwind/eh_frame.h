/* SPDX-License-Identifier: MIT */
/*
 * Reads the CIEs and FDEs of one .eh_frame (LSB core) or .debug_frame (DWARF 5, section 6.4), in
 * order of address. Malformed entries are counted and skipped.
 */
#ifndef PROF_LIB_CODE_UNWIND_EH_FRAME_H
#define PROF_LIB_CODE_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/code/unwind/cfi.h"
#include "lib/code/unwind/eh_frame_hdr.h"

struct paged_section;

struct cfi_section {
	const uint8_t *data; /* borrowed */
	size_t size;
	uint64_t vaddr;
	struct paged_section *pages; /* reads parts when needed, borrowed; NULL: all is there */
};

struct eh_frame {
	const struct unwind_arch *arch;
	struct cfi_section section;
	bool is_debug_frame;
	struct unwind_table_stats *stats; /* borrowed */
	VEC(struct cie) cies;
	VEC(uint64_t) cie_offsets;
	struct index cie_index; /* by offset */
	uint64_t last_cie_offset; /* the CIE looked up last, and its row */
	uint32_t last_cie;
	bool last_cie_is_usual; /* try read_usual_fde() for its FDEs */
	/* Places of FDEs, in order of address: the linker's table, or else `places`. */
	struct eh_frame_hdr hdr;
	VEC(struct fde_place) places;
	size_t next;
	/*
	 * Bytes of programs that may still be run. FDEs of a valid section do not overlap in it, so
	 * this limits only forged sections.
	 */
	uint64_t budget;
};

/*
 * `hdr` is .eh_frame_hdr, size 0 if none. If its table is unusable or does not lead to
 * FDEs, the section is walked and sorted instead.
 */
void eh_frame_init(struct eh_frame *frame, const struct unwind_arch *arch,
		   const struct cfi_section *section, const struct cfi_section *hdr,
		   bool is_debug_frame, struct unwind_table_stats *stats);
void eh_frame_release(struct eh_frame *frame);
/* Returns the next FDE that covers code; starts never decrease. False at the end. */
bool eh_frame_next(struct eh_frame *frame, struct fde *fde);
/*
 * Finds the FDE that covers a vaddr, independent of eh_frame_next(). Its program is not read from a
 * section with pages. False: none.
 */
bool eh_frame_find(struct eh_frame *frame, uint64_t vaddr, struct fde *fde);
/* Borrowed until the next eh_frame_next() or eh_frame_find(). */
const struct cie *eh_frame_cie(const struct eh_frame *frame, const struct fde *fde);

#endif
