/* SPDX-License-Identifier: MIT */
/*
 * The CIEs and FDEs of one .eh_frame (LSB core) or .debug_frame (DWARF 5, section 6.4), given in
 * order of address. What cannot be read is counted and passed over.
 */
#ifndef PROF_LIB_UNWIND_EH_FRAME_H
#define PROF_LIB_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/unwind/cfi.h"
#include "lib/unwind/eh_frame_hdr.h"

struct cfi_section {
	const uint8_t *data; /* borrowed */
	size_t size;
	uint64_t vaddr;
};

struct eh_frame {
	const struct unwind_arch *arch;
	struct cfi_section section;
	bool is_debug_frame;
	struct unwind_table_stats *stats; /* borrowed */
	VEC(struct cie) cies;
	VEC(uint64_t) cie_offsets;
	struct index cie_index; /* by offset */
	uint64_t last_cie_offset; /* the one that was asked for last, and its row */
	uint32_t last_cie;
	bool last_cie_is_usual; /* its FDEs are, mostly: read_usual_fde() */
	/* Where the FDEs are, in order: in the linker's table, or as found by ourselves. */
	struct eh_frame_hdr hdr;
	VEC(struct fde_place) places;
	size_t next;
	/*
	 * Bytes that may still be run as programs. The FDEs of a true section do not overlap in it,
	 * so that only the work that a forged one makes is bounded by this.
	 */
	uint64_t budget;
};

/*
 * `hdr` is .eh_frame_hdr, of size 0 where there is none. Where its table is not usable, or does not
 * lead to FDEs, the section is walked and sorted instead.
 */
void eh_frame_init(struct eh_frame *frame, const struct unwind_arch *arch,
		   const struct cfi_section *section, const struct cfi_section *hdr,
		   bool is_debug_frame, struct unwind_table_stats *stats);
void eh_frame_release(struct eh_frame *frame);
/* The next FDE that covers code, its start not below that of the one before; false at the end. */
bool eh_frame_next(struct eh_frame *frame, struct fde *fde);
/* The FDE around that vaddr, wherever eh_frame_next() is; false where none is. */
bool eh_frame_find(struct eh_frame *frame, uint64_t vaddr, struct fde *fde);
/* Borrowed, until eh_frame_next() or eh_frame_find() is called again. */
const struct cie *eh_frame_cie(const struct eh_frame *frame, const struct fde *fde);

#endif
