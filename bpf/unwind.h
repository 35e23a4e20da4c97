/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind tables as the walker reads them, in the kernel and in user space alike. A table covers the
 * code of one ELF file, addressed by the vaddr of the file:
 *
 *	page  = (vaddr - table start) >> UNWIND_PAGE_SHIFT
 *	rows  = index[page] .. index[page + 1]		(row numbers within the table)
 *	row   = the last one of them with pc_low <= (vaddr & page mask),
 *		else row index[page] - 1, which began on an earlier page
 *	rule  = rules[row.rule]
 *
 * A row holds until the next one begins. Rules are shared by all tables.
 */
#ifndef PROF_BPF_UNWIND_H
#define PROF_BPF_UNWIND_H

#include <linux/types.h>

#define UNWIND_PAGE_SHIFT 10
#define UNWIND_PAGE_SIZE (1u << UNWIND_PAGE_SHIFT)

struct unwind_row {
	__u16 pc_low; /* offset in its page */
	__u16 rule; /* index of the rule */
};

/* Registers whose caller's values are followed; numbers of our own, the same on all machines. */
enum unwind_reg {
	UNWIND_REG_SP,
	UNWIND_REG_FP, /* rbp, x29 */
	UNWIND_REG_BASE, /* rbx, x19: the one other register that CFAs of callers rest on */
	UNWIND_REG_RA, /* arm64: the link register; x86-64: unused */
	UNWIND_REG_OTHER, /* + n: general register n as DWARF numbers it; known in the top frame
			     only */
};

enum unwind_cfa_kind {
	UNWIND_CFA_NONE, /* no CFI here: a gap between FDEs, or a rule that cannot be told in 16
			    bytes */
	UNWIND_CFA_END, /* the return address is undefined: the outermost frame */
	UNWIND_CFA_REG, /* reg + offset */
	UNWIND_CFA_DEREF, /* *(reg + deref * 8) + offset */
	UNWIND_CFA_PLT, /* reg + 8 + (((pc & 15) >= offset) << 3): the lazy binding stubs of x86-64
			 */
};

/* Where the caller's value of a register is. */
enum unwind_value_kind {
	UNWIND_SAME, /* in the register still */
	UNWIND_AT_CFA, /* in memory, at CFA + offset * 8 */
	UNWIND_AT_REG, /* in memory, at that register + offset * 8 (expressions; ra: cfa_reg) */
	UNWIND_UNKNOWN,
};

/* rule.flags */
enum {
	UNWIND_SIGNAL_FRAME =
		1 << 0, /* CIE augmentation 'S': the caller's pc is no return address */
	UNWIND_RA_SIGNED = 1 << 1, /* arm64: DW_CFA_AARCH64_negate_ra_state is in force */
};

struct unwind_rule {
	__u8 cfa_kind; /* enum unwind_cfa_kind */
	__u8 cfa_reg; /* enum unwind_reg */
	__u8 kinds; /* enum unwind_value_kind: ra in bits 0-1, fp in 2-3, base in 4-5 */
	__u8 flags;
	__s32 cfa_offset; /* bytes */
	__s16 cfa_deref; /* in units of 8 bytes, as are the next ones */
	__s16 ra_offset, fp_offset, base_offset;
};

#define UNWIND_RA_KIND(kinds) ((kinds)&3)
#define UNWIND_FP_KIND(kinds) ((kinds) >> 2 & 3)
#define UNWIND_BASE_KIND(kinds) ((kinds) >> 4 & 3)

/* Rules with fixed numbers. */
enum {
	UNWIND_RULE_NONE, /* UNWIND_CFA_NONE */
	UNWIND_RULE_END, /* UNWIND_CFA_END */
	UNWIND_RULE_FIRST, /* the first of the others */
};

#define UNWIND_RULES_MAX 65536

_Static_assert(sizeof(struct unwind_row) == 4, "layout of tables");
_Static_assert(sizeof(struct unwind_rule) == 16, "layout of tables");

#endif
