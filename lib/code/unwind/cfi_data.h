/* SPDX-License-Identifier: MIT */
/* Reads an ELF file's call frame information into memory, from the section that has it. */
#pragma once

#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/eh_frame.h"

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
