/* SPDX-License-Identifier: MIT */
/* Machine-dependent facts for the table compiler. */
#pragma once

#include "bpf/unwind.h"
#include "lib/code/unwind/rule_words.h"
#include "lib/code/unwind/stub_rows.h"

struct go_arch;

struct unwind_arch {
	uint16_t machine; /* e_machine */
	uint8_t ra_column; /* DWARF number of the return address */
	uint8_t reg_count; /* general registers; DWARF numbers them from 0 */
	uint8_t word; /* bytes of an address, and the unit of offsets in rules; 4 or 8 */
	uint8_t sp, fp, base; /* DWARF numbers */
	bool ra_is_register; /* ra_column is a register that initially holds the return address */
	bool has_signed_ra; /* CFI may mark return addresses as signed */
	/* The rule of signal frames, which replaces their CFI; NULL: use the CFI. */
	const struct unwind_rule *signal_rule;
	struct unwind_rule initial; /* the rule before a CIE's first instruction */
	void (*add_stub)(struct stubs *stubs, const struct stub_code *code);
	/* Finds the rule of code between two FDEs; false if it is unknown. NULL: always unknown. */
	bool (*gap_rule)(const uint8_t *code, size_t size, struct unwind_rule *rule);
	/*
	 * Finds code between two FDEs whose frames are the outermost ones of their stacks; it
	 * starts after the first byte and ends before the last. NULL: none is known.
	 */
	bool (*gap_end)(const uint8_t *code, size_t size, size_t *start, size_t *end);
	/*
	 * Adds rows, in order of address, for functions whose frames follow from their
	 * instructions. NULL: none.
	 */
	void (*add_frames)(struct stubs *stubs, const struct stub_code *code);
	/* Returns the size of the function with which the code begins. NULL: unknown. */
	size_t (*function_size)(const struct stub_code *code);
	/* Adds rows, in order of address, for a module of Erlang's compiled code. NULL: none. */
	void (*add_erlang)(struct stubs *stubs, const struct stub_code *code);
	const struct go_arch *go; /* NULL: no rows for Go programs */
};

/* The frame in which the kernel calls a signal handler. */
extern const struct unwind_rule unwind_signal_rule_x86_64;
extern const struct go_arch go_arch_x86_64, go_arch_aarch64;
extern const struct unwind_arch unwind_arch_x86_64, unwind_arch_aarch64, unwind_arch_i386;

/* NULL if the machine is not supported. */
const struct unwind_arch *unwind_arch_find(uint16_t machine);

/* Returns the enum unwind_reg of a DWARF register, -1 if it is not a general register. */
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
