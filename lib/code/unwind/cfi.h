/* SPDX-License-Identifier: MIT */
/* Runs the programs of CIEs and FDEs (DWARF 5, section 6.4) into rows. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/cfi_state.h"
#include "lib/code/unwind/unwind_rows.h"

/* Limit for alignment factors, to prevent overflows. Real files have one digit. */
#define CIE_MAX_FACTOR 65536

/* The parts of a CIE that its FDEs need. */
struct cie {
	bool usable; /* if not, its FDEs are gaps */
	bool has_augmentation_size;
	bool is_signal_frame;
	uint8_t pc_encoding; /* absolute, or relative to the pointer */
	uint32_t code_factor;
	int32_t data_factor;
	uint64_t section_vaddr;
	const uint8_t *section_end; /* end of the section that holds its FDEs' programs */
	struct cfi_state initial;
};

/* An FDE: its code and its program. */
struct fde {
	uint64_t start, end; /* vaddr */
	uint32_t cie; /* index in eh_frame.cies */
	struct bytes program; /* the cursor's start is that of the section */
};

/*
 * Runs the CIE's initial instructions and sets cie->initial. Returns false if they are malformed.
 */
bool cfi_run_cie(const struct unwind_arch *arch, struct cie *cie, struct bytes program);
/*
 * Adds the rows of an FDE, up to its end or to `limit`. Returns false if its program is malformed:
 * the rest is then UNWIND_RULE_NONE. Each byte of the program costs constant time.
 */
bool cfi_run_fde(const struct unwind_arch *arch, const struct cie *cie, const struct fde *fde,
		 uint64_t limit, struct rows *rows);
