/* SPDX-License-Identifier: MIT */
/* The programs of CIEs and FDEs (DWARF 5, section 6.4), run once into rows. */
#ifndef PROF_LIB_UNWIND_CFI_H
#define PROF_LIB_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/unwind/arch.h"
#include "lib/unwind/cfi_state.h"
#include "lib/unwind/rows.h"

/* Factors have one digit in all real files; with these limits nothing overflows. */
#define CIE_MAX_FACTOR 65536

/* What a CIE tells its FDEs. */
struct cie {
	bool usable; /* else its FDEs are gaps */
	bool has_augmentation_size;
	bool is_signal_frame;
	uint8_t pc_encoding; /* absolute or relative to the pointer itself */
	uint32_t code_factor;
	int32_t data_factor;
	uint64_t section_vaddr;
	const uint8_t *section_end; /* of the bytes that its FDEs' programs are in */
	struct cfi_state initial;
};

/* One FDE: its code and its program. */
struct fde {
	uint64_t start, end; /* vaddr */
	uint32_t cie; /* index in eh_frame.cies */
	struct bytes program; /* its start is that of the section */
};

/* Runs the CIE's initial instructions and sets cie->initial; false where they are malformed. */
bool cfi_run_cie(const struct unwind_arch *arch, struct cie *cie, struct bytes program);
/*
 * Adds the rows of an FDE, up to its end or to `limit`. False where its program is malformed: what
 * holds from there on is then UNWIND_RULE_NONE. Each byte of the program costs constant time.
 */
bool cfi_run_fde(const struct unwind_arch *arch, const struct cie *cie, const struct fde *fde,
		 uint64_t limit, struct rows *rows);

#endif
