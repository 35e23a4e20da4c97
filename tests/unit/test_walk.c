/* SPDX-License-Identifier: MIT */
/* One step of the walker for each kind of rule, and the ends of stacks. */

#include <string.h>

#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define X86_RAX 0
#define X86_RBX 3
#define X86_RDI 5
#define X86_RBP 6
#define X86_R9 9
#define X86_R11 11
#define ARM_X19 19
#define ARM_X29 29
#define ARM_X30 30

/* A caller that saved nothing, then the outermost frame. */
static void add_callers(struct world *w)
{
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 2, END);
}

#define CASE(name) TEST_WITH(name, world_setup, world_teardown)

CASE(stack_pointer)
{
	struct world *w = *state;

	add_callers(w);
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 32));
	world_store(w, 24, RET(1));
	world_store(w, 32, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	for (uint32_t i = 0; i < w->path.depth; i++)
		assert_int_equal(w->kinds[i], FRAME_NATIVE);
}

CASE(saved_frame_pointer)
{
	struct world *w = *state;

	world_set_rule(w, 0, FRAMED);
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_RBP, WORLD_SP + 64);
	world_store(w, 64, WORLD_SP + 128);
	world_store(w, 72, RET(1));
	world_store(w, 128, 0);
	world_store(w, 136, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* The dynamic linker's resolver: its CFA is based on rbx, which it passed on to others. */
CASE(saved_base)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 16);

	rule.kinds = KINDS(UNWIND_AT_CFA, UNWIND_SAME, UNWIND_AT_CFA);
	rule.base_offset = -2;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_BASE, 24));
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_RBX, 1);
	world_store(w, 0, WORLD_SP + 80);
	world_store(w, 8, RET(1));
	world_store(w, 80 + 16, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* AES-GCM: the function's CFA is based on a scratch register, and it calls helpers of its own. */
CASE(other_register)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_OTHER + X86_R11, 8));
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_R11, WORLD_SP + 200);
	world_store(w, 0, RET(1));
	world_store(w, 200, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	w->regs.pc = IN(1);
	EXPECT(w, STACK_WHOLE, RET(2));
	/* There is no such register. */
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_OTHER + 32, 8));
	EXPECT_NONE(w, STACK_BROKEN);
}

/* After a frame found without CFI, registers may be anything. */
CASE(other_register_is_forgotten)
{
	struct world *w = *state;

	world_set_reg(w, X86_RBP, WORLD_SP + 16);
	world_store(w, 16, WORLD_SP + 1);
	world_store(w, 24, RET(1));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_OTHER + X86_R11, 8));
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_R11, WORLD_SP + 200);
	world_store(w, 200, RET(2));
	w->target.methods &= ~UNWIND_BY_SCAN;
	EXPECT(w, STACK_BROKEN, RET(1));
}

/* A realigned stack: the CFA is in memory, and saved registers are relative to rbp. */
CASE(dereferenced)
{
	struct world *w = *state;
	struct unwind_rule rule = {
		.cfa_kind = UNWIND_CFA_DEREF,
		.cfa_reg = UNWIND_REG_FP,
		.cfa_deref = -1,
		.kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_REG, UNWIND_AT_REG) | UNWIND_REG_FP << 6,
		.ra_offset = -1,
		.fp_offset = 0,
		.base_offset = -2,
	};

	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 2, SIMPLE(UNWIND_REG_BASE, 8));
	world_set_rule(w, 3, END);
	world_set_reg(w, X86_RBP, WORLD_SP + 40);
	world_store(w, 24, WORLD_SP + 320); /* rbx */
	world_store(w, 32, WORLD_SP + 80); /* the CFA */
	world_store(w, 40, WORLD_SP + 160); /* rbp */
	world_store(w, 72, RET(1));
	world_store(w, 168, RET(2));
	world_store(w, 320, RET(3));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2), RET(3));
	/* *(rsp + 16) + 8 */
	rule.cfa_reg = UNWIND_REG_SP;
	rule.cfa_deref = 2;
	rule.cfa_offset = 8;
	world_set_rule(w, 0, rule);
	world_store(w, 16, WORLD_SP + 72);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2), RET(3));
}

/* A fiber, whose parent's stack may lie below: its saved sp is in a structure. */
CASE(dereferenced_twice)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 8);

	rule.cfa_kind = UNWIND_CFA_DEREF_TWICE;
	rule.cfa_deref = 2;
	rule.flags = 3 << UNWIND_INDEX_SHIFT;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, END);
	world_store(w, 16, WORLD_SP + 80);
	world_store(w, 80 + 24, WORLD_SP - 64);
	world_store(w, -64, RET(1));
	EXPECT(w, STACK_WHOLE, RET(1));
	/* A stack that was not copied is missing. */
	world_store(w, 80 + 24, 1);
	EXPECT_NONE(w, STACK_TRUNCATED);
	world_store(w, 16, 1);
	EXPECT_NONE(w, STACK_TRUNCATED);
}

/* Code on a stack of its own, below, has called C on the thread's stack. */
CASE(sp_kept_in_base)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, RET(1));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_BASE, 16));
	world_set_reg(w, X86_RBX, WORLD_SP - 256);
	world_store(w, -248, RET(2));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* Assembler that allocates an array of r9 words has its caller's sp behind it. */
CASE(indexed)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 8);

	rule.cfa_kind = UNWIND_CFA_INDEXED;
	rule.flags = (UNWIND_REG_OTHER + X86_R9) << UNWIND_INDEX_SHIFT;
	rule.cfa_deref = 1;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, END);
	world_set_reg(w, X86_R9, 16);
	world_store(w, 8 + 16 * 8, WORLD_SP + 392);
	world_store(w, 392, RET(1));
	EXPECT(w, STACK_WHOLE, RET(1));
	world_set_reg(w, X86_R9, UINT64_MAX - 1); /* below sp */
	world_store(w, -8, WORLD_SP + 392);
	EXPECT(w, STACK_WHOLE, RET(1));
	w->target.methods = UNWIND_BY_CFI;
	world_set_reg(w, X86_R9, 1ull << 60);
	EXPECT_NONE(w, STACK_BROKEN);
	rule.flags = (UNWIND_REG_OTHER + 32) << UNWIND_INDEX_SHIFT;
	world_set_rule(w, 0, rule);
	EXPECT_NONE(w, STACK_BROKEN);
}

/* Saved registers may be relative to another register than the CFA. */
CASE(saved_relative_to_another_register)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 16);

	rule.kinds = KINDS(UNWIND_AT_REG, UNWIND_AT_REG, UNWIND_SAME) | UNWIND_REG_BASE << 6;
	rule.ra_offset = 2;
	rule.fp_offset = 3;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_RBX, WORLD_SP + 80);
	world_store(w, 96, RET(1));
	world_store(w, 104, WORLD_SP + 160);
	world_store(w, 168, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

CASE(lazy_binding_stub)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 11);

	rule.cfa_kind = UNWIND_CFA_PLT;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, END);
	world_set_rule(w, 2, END);
	world_store(w, 0, RET(1));
	world_store(w, 8, RET(2));
	w->regs.pc = START(0) + 16 + 10;
	EXPECT(w, STACK_WHOLE, RET(1));
	w->regs.pc = START(0) + 16 + 11; /* the relocation's number has been pushed */
	EXPECT(w, STACK_WHOLE, RET(2));
}

/* Parent and new thread return from one system call; the new thread has nobody to return to. */
CASE(system_call_that_makes_a_thread)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 8);

	rule.cfa_kind = UNWIND_CFA_CLONE;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, END);
	world_store(w, 0, RET(1));
	world_set_reg(w, X86_RAX, 1234);
	EXPECT(w, STACK_WHOLE, RET(1));
	world_set_reg(w, X86_RAX, 0);
	EXPECT_NONE(w, STACK_WHOLE);
}

static struct unwind_rule signal_rule(void)
{
	return (struct unwind_rule){
		.cfa_kind = UNWIND_CFA_DEREF,
		.cfa_reg = UNWIND_REG_SP,
		.cfa_deref = 20,
		.kinds = KINDS(UNWIND_AT_REG, UNWIND_AT_REG, UNWIND_AT_REG),
		.flags = UNWIND_SIGNAL_FRAME,
		.ra_offset = 21,
		.fp_offset = 15,
		.base_offset = 16,
	};
}

/* A handler, its return to the trampoline, and code interrupted at its first byte. */
CASE(interrupted_by_signal)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 1, signal_rule());
	world_set_rule(w, 2, END); /* unused: the function before the interrupted one */
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 4, FRAMED);
	world_set_rule(w, 5, END);
	world_store(w, 0, START(1) + 1); /* also the trampoline's first byte */
	world_store(w, 8 + 15 * 8, WORLD_SP + 640);
	world_store(w, 8 + 20 * 8, WORLD_SP + 560);
	world_store(w, 8 + 21 * 8, START(3));
	world_store(w, 560, RET(4));
	world_store(w, 648, RET(5));
	EXPECT(w, STACK_WHOLE, START(1) + 1, START(3), RET(4), RET(5));
	assert_int_equal(w->kinds[0], FRAME_NATIVE);
	assert_int_equal(w->kinds[1], FRAME_SIGNAL);
	assert_int_equal(w->kinds[2], FRAME_NATIVE);
}

/* A handler on its own stack, above the interrupted one. */
CASE(signal_on_another_stack)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 1, signal_rule());
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 4, END);
	world_store(w, 0, RET(1));
	world_store(w, 8 + 20 * 8, WORLD_SP - 80);
	world_store(w, 8 + 21 * 8, IN(3));
	world_store(w, -80, RET(4));
	EXPECT(w, STACK_WHOLE, RET(1), IN(3), RET(4));
}

/* The interrupted code's registers are not the handler's. */
CASE(signal_forgets_registers)
{
	struct world *w = *state;

	world_set_rule(w, 0, signal_rule());
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_OTHER + X86_R11, 8));
	world_set_reg(w, X86_R11, WORLD_SP + 600);
	world_store(w, 600, RET(2));
	world_store(w, 20 * 8, WORLD_SP + 400);
	world_store(w, 21 * 8, IN(1));
	EXPECT(w, STACK_BROKEN, IN(1));
}

/* vfork() keeps the return address in rdi while parent and child share the stack. */
CASE(return_address_in_register)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 0);

	rule.kinds = KINDS(UNWIND_SAME, UNWIND_SAME, UNWIND_SAME);
	rule.ra_offset = UNWIND_REG_OTHER + X86_RDI;
	world_set_rule(w, 0, rule);
	add_callers(w);
	world_set_reg(w, X86_RDI, RET(1));
	world_store(w, 0, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

static struct unwind_rule link_register_rule(int offset)
{
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, offset);

	rule.kinds = KINDS(UNWIND_SAME, UNWIND_SAME, UNWIND_SAME);
	rule.ra_offset = UNWIND_REG_RA;
	return rule;
}

static struct unwind_rule arm64_frame(int size)
{
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, size);

	rule.kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_CFA, UNWIND_SAME);
	rule.ra_offset = (int16_t)(1 - size / 8);
	rule.fp_offset = (int16_t)(-size / 8);
	return rule;
}

CASE(link_register)
{
	struct world *w = *state;

	w->target.is_arm64 = true;
	world_set_rule(w, 0, link_register_rule(0));
	world_set_rule(w, 1, arm64_frame(48));
	world_set_rule(w, 2, END);
	world_set_reg(w, ARM_X30, RET(1));
	world_set_reg(w, ARM_X29, 3);
	world_store(w, 0, WORLD_SP + 99);
	world_store(w, 8, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	/* The register no longer has the caller's: the call has overwritten it. */
	world_set_rule(w, 1, link_register_rule(16));
	w->target.methods = UNWIND_BY_CFI;
	EXPECT(w, STACK_BROKEN, RET(1));
}

/* Interrupted code has its link register in the signal frame, below sp and pc. */
CASE(link_register_behind_signal)
{
	struct world *w = *state;
	struct unwind_rule rule = signal_rule();

	w->target.is_arm64 = true;
	rule.cfa_deref = 40;
	rule.ra_offset = 41;
	rule.fp_offset = 38;
	rule.base_offset = 28;
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, link_register_rule(0));
	world_set_rule(w, 2, END);
	world_set_reg(w, ARM_X30, RET(9));
	world_store(w, 39 * 8, RET(2));
	world_store(w, 40 * 8, WORLD_SP + 1000);
	world_store(w, 41 * 8, IN(1));
	EXPECT(w, STACK_WHOLE, IN(1), RET(2));
}

CASE(signed_return_address)
{
	struct world *w = *state;

	w->target.is_arm64 = true;
	w->target.pc_mask = (1ull << 48) - 1;
	world_set_rule(w, 0, arm64_frame(32));
	world_set_rule(w, 1, END);
	world_store(w, 8, RET(1) | 0x2a5ull << 48);
	EXPECT(w, STACK_WHOLE, RET(1));
	/* The same by frame pointers. */
	world_set_rule(w, 0, (struct unwind_rule){0});
	world_set_reg(w, ARM_X29, WORLD_SP);
	EXPECT(w, STACK_WHOLE, RET(1));
}

/* At the end of a function, its saved registers are below sp, where a copy has nothing. */
CASE(unreadable_register_is_unknown)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 8);

	rule.kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_CFA, UNWIND_AT_CFA);
	rule.fp_offset = -70;
	rule.base_offset = -71;
	world_set_rule(w, 0, rule);
	add_callers(w);
	world_store(w, 0, RET(1));
	world_store(w, 8, RET(2));
	world_set_reg(w, X86_RBP, WORLD_SP + 100);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	/* A frame that needs the register does not get the callee's. */
	world_set_rule(w, 1, FRAMED);
	EXPECT(w, STACK_BROKEN, RET(1));
}

CASE(unknown_register)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 8);

	rule.kinds = KINDS(UNWIND_AT_CFA, UNWIND_UNKNOWN, UNWIND_UNKNOWN);
	world_set_rule(w, 0, rule);
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_RBP, WORLD_SP + 80);
	world_store(w, 0, RET(1));
	world_store(w, 88, RET(2));
	EXPECT(w, STACK_BROKEN, RET(1));
}

/* Rules that lead from a frame to itself, or back, would be followed for ever. */
CASE(the_stack_shrinks)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 0));
	world_store(w, 0, RET(1));
	EXPECT(w, STACK_BROKEN, RET(1));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, -8));
	EXPECT(w, STACK_BROKEN, RET(1));
}

/* Rows of the page, of earlier pages, and none. */
CASE(rules_are_found)
{
	struct world *w = *state;
	uint32_t *rows = w->words + WORLD_PAGES + 1;

	for (uint32_t n = 0; n < WORLD_FUNCS; n++)
		world_set_rule(w, n, SIMPLE(UNWIND_REG_SP, 8 * (int)(n + 1)));
	w->target.methods = UNWIND_BY_CFI;
	for (uint32_t n = 0; n < WORLD_FUNCS; n++) {
		memset(w->stack, 0, sizeof(w->stack));
		world_store(w, 8 * (int)n, 0x1234);
		w->regs.pc = START(n);
		EXPECT(w, STACK_BROKEN, 0x1234);
		w->regs.pc = START(n + 1) - 1;
		EXPECT(w, STACK_BROKEN, 0x1234);
	}
	/* A page without rows, like the space before a first row, continues the previous page. */
	w->words[2] = w->words[1];
	world_store(w, 8 * 3, 0x4321);
	w->regs.pc = START(4);
	EXPECT(w, STACK_BROKEN, 0x4321);
	rows[12] = (rows[12] & ~0xffffu) | 8;
	w->regs.pc = START(12) + 7;
	world_store(w, 8 * 11, 0x5678);
	EXPECT(w, STACK_BROKEN, 0x5678);
	/* The mapping extends beyond its table. */
	w->mappings[0].table_start += UNWIND_PAGE_SIZE;
	w->regs.pc = START(3);
	EXPECT_NONE(w, STACK_BROKEN);
}
