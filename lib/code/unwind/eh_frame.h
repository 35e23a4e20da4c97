/* SPDX-License-Identifier: MIT */
/*
 * Reads the CIEs and FDEs of one .eh_frame (LSB core) or .debug_frame (DWARF 5, section 6.4), in
 * order of address. Malformed entries are counted and skipped.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/unwind/cfi.h"

/*
 * Function bounds of a file without symbols: each function has a separate FDE, as do parts that a
 * compiler split off (".cold").
 */

struct fde_ranges;

/* A function; addresses are vaddrs minus that of the first PT_LOAD. */
struct fde_range {
	uint64_t rva, size;
	bool is_entry; /* starts a program */
};

/*
 * Reads the call frame information of a file; `fd` is borrowed until fde_ranges_free(). Returns
 * -ENOENT if it has none, -ENOEXEC if it is not an ELF file of a supported machine, -EFBIG if it is
 * too large.
 */
int fde_ranges_new(struct fde_ranges **out, int fd, struct error *err);
/* NULL is fine. */
void fde_ranges_free(struct fde_ranges *r);
/*
 * Finds the function around an address. Returns false if there is none, or it is not in code;
 * *range is then empty, at the start of the last function before the address, or 0.
 */
bool fde_ranges_find(struct fde_ranges *r, uint64_t rva, struct fde_range *range);

/* .eh_frame_hdr: the linker's sorted table of FDEs (LSB core). */

struct cfi_section;

struct fde_place {
	uint64_t start; /* vaddr of the code */
	uint64_t vaddr; /* of the FDE */
};

struct eh_frame_hdr {
	uint64_t target; /* vaddr of .eh_frame; 0: not given */
	uint64_t count; /* entries in the table; 0: unusable */
	struct bytes entries; /* exactly `count` of them */
	uint64_t base; /* vaddr to which they are relative */
	bool is_wide; /* numbers have 8 bytes, else 4 */
};

/*
 * Never fails: ignores a table that is unsorted, does not fit or has an unusual encoding. Takes
 * time proportional to the table.
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

struct paged_section;

struct cfi_section {
	const uint8_t *data; /* borrowed */
	size_t size;
	uint64_t vaddr;
	uint64_t text; /* start of the code, for pointers relative to it; 0: unknown */
	struct paged_section *pages; /* loads parts when needed, borrowed; NULL: all is loaded */
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
	/* Locations of FDEs, in order of address: the linker's table, or else `places`. */
	struct eh_frame_hdr hdr;
	VEC(struct fde_place) places;
	size_t next;
	/*
	 * Bytes of programs left to run. FDEs of a valid section do not overlap, so this limits
	 * only forged sections.
	 */
	uint64_t budget;
};

/*
 * `hdr` is .eh_frame_hdr, size 0 if there is none. If its table is unusable or does not point to
 * FDEs, the section is walked and sorted instead.
 */
void eh_frame_init(struct eh_frame *frame, const struct unwind_arch *arch,
		   const struct cfi_section *section, const struct cfi_section *hdr,
		   bool is_debug_frame, struct unwind_table_stats *stats);
void eh_frame_release(struct eh_frame *frame);
/* Returns the next FDE that covers code; starts never decrease. False at the end. */
bool eh_frame_next(struct eh_frame *frame, struct fde *fde);
/* Borrowed until the next eh_frame_next() or eh_frame_find(). */
const struct cie *eh_frame_cie(const struct eh_frame *frame, const struct fde *fde);
