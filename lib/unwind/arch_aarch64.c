/* SPDX-License-Identifier: MIT */
/* arm64: register numbers of "DWARF for the Arm 64-bit Architecture", section 4.1. */
#include "lib/unwind/arch.h"

#include <elf.h>
#include <stddef.h>

/* mov x8, #__NR_rt_sigreturn; svc #0 */
static const uint8_t signal_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

/*
 * struct rt_sigframe of the kernel: 128 bytes of siginfo, the ucontext up to uc_mcontext (176),
 * fault_address (8), then x0 to x30, sp and pc.
 */
#define SIGNAL_REG(n) ((128 + 176 + 8) / 8 + (n))

const struct unwind_arch unwind_arch_aarch64 = {
	.machine = EM_AARCH64,
	.ra_column = 30,
	.reg_count = 31,
	.sp = 31,
	.fp = 29,
	.base = 19,
	.ra_is_register = true,
	.signal_code = signal_code,
	.signal_code_size = sizeof(signal_code),
	/*
	 * The vDSO's trampoline had CFI until Linux 5.8, which led to the caller of the interrupted
	 * function by x29 and lost its pc and sp; since then it has none.
	 */
	.signal_rule = {.cfa_kind = UNWIND_CFA_DEREF,
			.cfa_reg = UNWIND_REG_SP,
			.kinds = UNWIND_AT_REG | UNWIND_AT_REG << 2 | UNWIND_AT_REG << 4,
			.flags = UNWIND_SIGNAL_FRAME,
			.cfa_deref = SIGNAL_REG(31),
			.ra_offset = SIGNAL_REG(32),
			.fp_offset = SIGNAL_REG(29),
			.base_offset = SIGNAL_REG(19)},
	.initial = {.kinds = UNWIND_SAME, .ra_offset = UNWIND_REG_RA},
};
