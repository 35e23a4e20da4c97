/* SPDX-License-Identifier: MIT */
/* Reads an ELF file's call frame information into memory, from the section that has it. */
#pragma once

#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/eh_frame.h"
#include "lib/base/bytes.h"

struct cfi_data {
	bool by_pages; /* set by the caller: read pages of .eh_frame when they are needed */
	struct cfi_section cfi; /* .eh_frame or .debug_frame */
	struct cfi_section hdr; /* .eh_frame_hdr; size 0: none */
	struct cfi_section more; /* .debug_frame in addition to .eh_frame; never if by pages */
	bool is_debug_frame;
	struct cfi_buffer buffers[3]; /* memory of `cfi`, `hdr` and `more` */
	struct paged_section pages; /* for `cfi`, if by pages */
};

/*
 * Reads .eh_frame, or .debug_frame if there is no .eh_frame; both are empty if the file has
 * neither. Compilers that write exact rules to .debug_frame leave a few FDEs of the C runtime in
 * .eh_frame, so both are read then. Without section headers, .eh_frame is found by PT_GNU_EH_FRAME,
 * and its location is stored in `file`. *data must be zeroed, or left from an earlier read, whose
 * buffers are then reused. Release it even on error. If by pages, it may not move, and the file
 * stays open, until then.
 */
int cfi_data_read(struct cfi_data *data, struct cfi_file *file, struct error *err);
void cfi_data_release(struct cfi_data *data);

/*
 * Pointers as encoded in .eh_frame and .eh_frame_hdr (LSB core, "DWARF exception header encoding").
 */
enum {
	POINTER_ABSOLUTE = 0x00, /* 8 bytes, see pointer_encoding() */
	POINTER_ULEB = 0x01,
	POINTER_U16 = 0x02,
	POINTER_U32 = 0x03,
	POINTER_U64 = 0x04,
	POINTER_SLEB = 0x09,
	POINTER_S16 = 0x0a,
	POINTER_S32 = 0x0b,
	POINTER_S64 = 0x0c,
	POINTER_FORM = 0x0f, /* mask of the above */
	POINTER_PC_RELATIVE = 0x10,
	POINTER_TEXT_RELATIVE = 0x20,
	POINTER_DATA_RELATIVE = 0x30,
	POINTER_ALIGNED = 0x50,
	POINTER_BASE = 0x70, /* mask of the above */
	POINTER_INDIRECT = 0x80,
	POINTER_OMITTED = 0xff,
};

/*
 * Adapts an encoding to addresses of `word` bytes: absolute pointers of 4 bytes become POINTER_U32.
 * Encodings that do not occur in 32-bit files become an invalid one.
 */
uint8_t pointer_encoding(uint8_t encoding, uint8_t word);
/*
 * Reads a pointer. `vaddr` is the address of b->start, `base` that of POINTER_DATA_RELATIVE or
 * POINTER_TEXT_RELATIVE. Makes b fail for an unknown encoding and for pointers that only a running
 * program can resolve (indirect, relative to a function).
 */
uint64_t pointer_read(struct bytes *b, uint8_t encoding, uint64_t vaddr, uint64_t base);
/* Reads the number, without adding a base. */
uint64_t pointer_read_form(struct bytes *b, uint8_t encoding);
/* Skips a pointer; fails only for an unknown encoding. */
void pointer_skip(struct bytes *b, uint8_t encoding, uint64_t vaddr);
