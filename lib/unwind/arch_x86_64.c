/* SPDX-License-Identifier: MIT */
/* x86-64: register numbers of the System V ABI, figure 3.36. */
#include "lib/unwind/arch.h"

#include <elf.h>
#include <stddef.h>

const struct unwind_arch unwind_arch_x86_64 = {
	.machine = EM_X86_64,
	.ra_column = 16,
	.reg_count = 16,
	.sp = 7,
	.fp = 6,
	.base = 3,
	/* The C library brings its own trampoline, with CFI that tells all of the ucontext. */
	.signal_cfi_is_complete = true,
	/* Some assembler code has a CIE that does not say where a call puts its return address. */
	.initial = {.kinds = UNWIND_AT_CFA, .ra_offset = -1},
};
