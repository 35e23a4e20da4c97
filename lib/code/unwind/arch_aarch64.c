/* SPDX-License-Identifier: MIT */
/* arm64: register numbers of "DWARF for the Arm 64-bit Architecture", section 4.1. */
#include "lib/code/unwind/arch.h"

#include <elf.h>
#include <endian.h>

enum {
	INSN_BTI_C = 0xd503245f,
	INSN_NOP = 0xd503201f,
	INSN_PACIASP = 0xd503233f,
	INSN_STP_X16_X30 = 0xa9bf7bf0, /* stp x16, x30, [sp, #-16]! */
	INSN_STP_X29_X30 = 0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	INSN_LDP_X29_X30 = 0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	INSN_RET = 0xd65f03c0,
	INSN_MOV_X8_SIGRETURN = 0xd2801168, /* mov x8, #139 */
	INSN_SVC = 0xd4000001, /* svc #0 */
};

/*
 * struct rt_sigframe of the kernel: 128 bytes of siginfo, the ucontext up to uc_mcontext (176),
 * fault_address (8), then x0 to x30, sp and pc.
 */
#define SIGNAL_REG(n) ((128 + 176 + 8) / 8 + (n))

/*
 * Until Linux 5.8, the CFI of the vDSO's trampoline led via x29 to the caller of the interrupted
 * function, losing the interrupted pc and sp. Since then it has none.
 */
static const struct unwind_rule signal_rule = {
	.cfa_kind = UNWIND_CFA_DEREF,
	.cfa_reg = UNWIND_REG_SP,
	.kinds = UNWIND_AT_REG | UNWIND_AT_REG << 2 | UNWIND_AT_REG << 4 | UNWIND_REG_SP << 6,
	.flags = UNWIND_SIGNAL_FRAME,
	.cfa_deref = SIGNAL_REG(31),
	.ra_offset = SIGNAL_REG(32),
	.fp_offset = SIGNAL_REG(29),
	.base_offset = SIGNAL_REG(19),
};

/* Returns the instruction at an offset; 0, not a valid one, if out of range. */
static uint32_t insn_at(const struct stub_code *code, size_t at)
{
	uint32_t insn;

	if (at % 4 || at > code->size || code->size - at < sizeof(insn))
		return 0;
	memcpy(&insn, code->code + at, sizeof(insn));
	return le32toh(insn);
}

static struct unwind_rule at_entry(void)
{
	return stubs_rule_at_entry(&unwind_arch_aarch64, 0);
}

/* Returns the rule after a push of two registers: x30, and x29 if has_fp. */
static struct unwind_rule pair_saved(bool has_fp, bool is_signed)
{
	struct unwind_rule rule = stubs_rule_at_entry(&unwind_arch_aarch64, 16);

	rule.kinds = UNWIND_AT_CFA;
	rule.ra_offset = -1;
	if (has_fp) {
		rule.kinds |= UNWIND_AT_CFA << 2;
		rule.fp_offset = -2;
	}
	if (is_signed)
		rule.flags |= UNWIND_RA_SIGNED;
	return rule;
}

static void add_plt(struct stubs *stubs, const struct stub_code *code)
{
	size_t at = insn_at(code, 0) == INSN_BTI_C ? 4 : 0;

	/* The first entry, of 32 bytes, saves two registers and jumps to the resolver. */
	if (code->size < 32 || insn_at(code, at) != INSN_STP_X16_X30)
		return;
	stubs_add_row(stubs, code->vaddr, at_entry());
	stubs_add_row(stubs, code->vaddr + at + 4, pair_saved(false, false));
	stubs_add_row(stubs, code->vaddr + 32, at_entry());
	stubs_add_end(stubs, code);
}

/* stp x29, x30, [sp, #-16]! … ldp x29, x30, [sp], #16; (autiasp;) ret */
static void add_init(struct stubs *stubs, const struct stub_code *code)
{
	uint32_t first = insn_at(code, 0);
	bool is_signed = first == INSN_PACIASP;
	size_t at = is_signed || first == INSN_NOP || first == INSN_BTI_C ? 4 : 0;
	size_t last = is_signed ? 12 : 8;
	struct unwind_rule rule = at_entry();

	if (code->size < at + 4 + last || insn_at(code, at) != INSN_STP_X29_X30 ||
	    insn_at(code, code->size - last) != INSN_LDP_X29_X30 ||
	    insn_at(code, code->size - 4) != INSN_RET)
		return;
	stubs_add_row(stubs, code->vaddr, rule);
	if (is_signed) {
		rule.flags |= UNWIND_RA_SIGNED;
		stubs_add_row(stubs, code->vaddr + 4, rule);
	}
	stubs_add_row(stubs, code->vaddr + at + 4, pair_saved(true, is_signed));
	stubs_add_row(stubs, code->vaddr + code->size - last + 4, rule);
	if (is_signed)
		stubs_add_row(stubs, code->vaddr + code->size - 4, at_entry());
	stubs_add_end(stubs, code);
}

/* Returns whether this instruction may change sp or x30. Encodings: Arm ARM, C4.1. */
static bool changes_frame(uint32_t insn)
{
	uint32_t rd = insn & 31, rn = insn >> 5 & 31;

	if (insn >> 26 == 0x05) /* b */
		return false;
	if (insn >> 26 == 0x25 || (insn & 0xfe600000) == 0xd6200000) /* bl; blr and its variants */
		return true;
	if ((insn & 0x3f800000) == 0x11000000 || (insn & 0x3fe00000) == 0x0b200000)
		return rd >= 30; /* add, sub with an immediate or extended operand: 31 is sp */
	if ((insn & 0x1f800000) == 0x12000000 && (insn >> 29 & 3) != 3)
		return rd >= 30; /* and, orr, eor with an immediate, but not ands: 31 is zero */
	if ((insn & 0x3a800000) == 0x28800000 && rn == 31)
		return true; /* stp, ldp that move sp */
	if ((insn & 0x3b200400) == 0x38000400 && rn == 31)
		return true; /* str, ldr that move sp */
	/*
	 * Most instructions have their result in this field; ldp's second one is elsewhere. 30 is
	 * x30.
	 */
	return rd == 30 || ((insn & 0x3a400000) == 0x28400000 && (insn >> 10 & 31) == 30);
}

static bool is_leaf_code(const struct stub_code *code)
{
	for (size_t at = 0; at + 4 <= code->size; at += 4) {
		if (changes_frame(insn_at(code, at)))
			return false;
	}
	return true;
}

/*
 * The vDSO has no CFI on arm64. If all its functions are leaves, one row covers them all. The
 * instruction before the trampoline, a nop in the kernel, gets the trampoline's row: unwinders that
 * mistake the trampoline's address for a return address look one byte before it.
 */
static void add_text(struct stubs *stubs, const struct stub_code *code)
{
	bool is_leaf = is_leaf_code(code);

	if (is_leaf)
		stubs_add_row(stubs, code->vaddr, at_entry());
	for (size_t at = 4; at + 8 <= code->size; at += 4) {
		if (insn_at(code, at) != INSN_MOV_X8_SIGRETURN || insn_at(code, at + 4) != INSN_SVC)
			continue;
		stubs_add_row(stubs, code->vaddr + at - 4, signal_rule);
		stubs_add_row(stubs, code->vaddr + at + 8,
			      is_leaf ? at_entry() : (struct unwind_rule){0});
	}
	if (is_leaf)
		stubs_add_end(stubs, code);
}

static void add_stub(struct stubs *stubs, const struct stub_code *code)
{
	if (code->kind == STUB_PLT)
		add_plt(stubs, code);
	else if (code->kind == STUB_INIT_FINI)
		add_init(stubs, code);
	else if (code->kind == STUB_TEXT)
		add_text(stubs, code);
}

const struct unwind_arch unwind_arch_aarch64 = {
	.machine = EM_AARCH64,
	.ra_column = 30,
	.reg_count = 31,
	.word = 8,
	.sp = 31,
	.fp = 29,
	.base = 19,
	.ra_is_register = true,
	.has_signed_ra = true,
	.signal_rule = &signal_rule,
	.initial = {.kinds = UNWIND_SAME, .ra_offset = UNWIND_REG_RA},
	.add_stub = add_stub,
	.go = &go_arch_aarch64,
};
