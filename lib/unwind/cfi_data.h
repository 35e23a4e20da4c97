/* SPDX-License-Identifier: MIT */
/* The call frame information of an ELF file in memory, wherever the file has it. */
#ifndef PROF_LIB_UNWIND_CFI_DATA_H
#define PROF_LIB_UNWIND_CFI_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/cfi_file.h"
#include "lib/unwind/eh_frame.h"

struct cfi_data {
	struct cfi_section cfi; /* .eh_frame or .debug_frame */
	struct cfi_section hdr; /* .eh_frame_hdr; size 0: none */
	bool is_debug_frame;
	struct cfi_buffer buffers[2]; /* what `cfi` and `hdr` point to */
};

/*
 * Reads .eh_frame, or .debug_frame where there is no other; both empty where there is neither.
 * Release it in any case. Without section headers .eh_frame is found by PT_GNU_EH_FRAME, which
 * `file` then knows of. What it holds already, or
 * zeroes, are its buffers, which are used again.
 */
int cfi_data_read(struct cfi_data *data, struct cfi_file *file, struct error *err);
void cfi_data_release(struct cfi_data *data);

#endif
