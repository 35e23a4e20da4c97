/* SPDX-License-Identifier: MIT */
/* What the table compiler must know of a machine. One struct per machine, nothing else differs. */
#ifndef PROF_LIB_UNWIND_ARCH_H
#define PROF_LIB_UNWIND_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/unwind/rule_words.h"
#include "lib/unwind/stubs.h"

struct unwind_arch {
	uint16_t machine; /* e_machine */
	uint8_t ra_column; /* DWARF's number of the return address */
	uint8_t reg_count; /* general registers; DWARF numbers them from 0 */
	uint8_t word; /* bytes of an address, and what offsets in rules count; 4 or 8 */
	uint8_t sp, fp, base; /* DWARF's numbers; the return address has ra_column */
	bool ra_is_register; /* the return address is in ra_column until it is saved */
	bool has_signed_ra; /* return addresses may be signed, and CFI says so */
	/*
	 * Where a signal frame has the interrupted registers: NULL: where its CFI says; else the
	 * rule that takes the place of its CFI.
	 */
	const struct unwind_rule *signal_rule;
	struct unwind_rule initial; /* what holds before a CIE says anything */
	void (*add_stub)(struct stubs *stubs, const struct stub_code *code);
};

extern const struct unwind_arch unwind_arch_x86_64, unwind_arch_aarch64, unwind_arch_i386;

/* NULL where the machine is none of ours. */
const struct unwind_arch *unwind_arch_find(uint16_t machine);

/* enum unwind_reg of DWARF's register, or -1 where it is no general register. */
static inline int unwind_arch_reg(const struct unwind_arch *arch, uint64_t dwarf_reg)
{
	if (dwarf_reg == arch->sp)
		return UNWIND_REG_SP;
	if (dwarf_reg == arch->fp)
		return UNWIND_REG_FP;
	if (dwarf_reg == arch->base)
		return UNWIND_REG_BASE;
	if (dwarf_reg == arch->ra_column)
		return arch->ra_is_register ? UNWIND_REG_RA : -1;
	return dwarf_reg < arch->reg_count ? (int)(UNWIND_REG_OTHER + dwarf_reg) : -1;
}

static inline enum unwind_value unwind_arch_value(const struct unwind_arch *arch,
						  uint64_t dwarf_reg)
{
	if (dwarf_reg == arch->fp)
		return UNWIND_VALUE_FP;
	if (dwarf_reg == arch->base)
		return UNWIND_VALUE_BASE;
	if (dwarf_reg == arch->ra_column)
		return UNWIND_VALUE_RA;
	return dwarf_reg == arch->sp ? UNWIND_VALUE_SP : UNWIND_VALUE_NONE;
}

#endif
