/* SPDX-License-Identifier: MIT */
/*
 * Peculiarities of arm64: frames known by their pair of registers and not by their end, assembler
 * that returns to the link register, and a resolver with wrong CFI.
 */

#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define X29 29
#define X30 30
#define SIGNATURE (0x2a5ull << 48)

/* stp x29, x30, [sp, #-size + at]!; mov x29, sp */
static struct unwind_rule pair_at(int size, int at)
{
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, size);

	rule.kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_CFA, UNWIND_SAME);
	rule.fp_offset = (int16_t)((at - size) / 8);
	rule.ra_offset = (int16_t)(rule.fp_offset + 1);
	return rule;
}

static void store_pair(struct world *w, int offset, uint64_t fp, uint64_t ra)
{
	world_store(w, offset, fp);
	world_store(w, offset + 8, ra);
}

static int setup(void **state)
{
	int code = world_setup(state);
	struct world *w = *state;

	w->target.is_arm64 = true;
	w->target.pc_mask = (1ull << 48) - 1;
	w->target.methods &= ~UNWIND_BY_SCAN;
	return code;
}

#define CASE(name) TEST_WITH(name, setup, world_teardown)

/* After a caller known by its pair alone, steps are exact again. */
CASE(cfa_by_pair)
{
	struct world *w = *state;
	struct unwind_rule no_pair = SIMPLE(UNWIND_REG_SP, 16);

	world_set_reg(w, X29, WORLD_SP + 32);
	store_pair(w, 32, WORLD_SP + 160, RET(1));
	/* Function 1 has its pair 16 bytes above its sp, which is not known. */
	store_pair(w, 160, WORLD_SP + 900, RET(2));
	world_set_rule(w, 1, pair_at(96, 16));
	/* Function 2 does not save x29: its CFA is the exact end of function 1's frame. */
	world_set_rule(w, 2, no_pair);
	world_store(w, 160 - 16 + 96 + 16 - 8, RET(3));
	world_set_rule(w, 3, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2), RET(3));
}

/* A function that saves x29 apart from the return address need not have made it a frame pointer. */
CASE(no_cfa_without_pair)
{
	struct world *w = *state;
	struct unwind_rule apart = pair_at(96, 16);

	apart.ra_offset = -1;
	world_set_rule(w, 1, apart);
	world_set_reg(w, X29, WORLD_SP + 32);
	store_pair(w, 32, WORLD_SP + 160, RET(1));
	store_pair(w, 160, 0, RET(2));
	world_store(w, 160 - 16 + 96 - 8, RET(3));
	world_set_rule(w, 2, END);
	world_set_rule(w, 3, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/*
 * Assembler with a frame of its own: the link register is still right, but the frame pointer is
 * better.
 */
CASE(assembler_with_frame)
{
	struct world *w = *state;

	w->regs.pc = ANON(3);
	world_set_reg(w, X30, RET(1) | SIGNATURE);
	world_set_reg(w, X29, WORLD_SP + 16);
	store_pair(w, 16, WORLD_SP + 160, RET(1) | SIGNATURE);
	store_pair(w, 160, WORLD_SP + 900, RET(2));
	world_set_rule(w, 1, pair_at(64, 0));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* Without a frame, the caller's sp is unknown, but the place of its pair is known. */
CASE(assembler_without_frame)
{
	struct world *w = *state;

	w->regs.pc = ANON(3);
	world_set_reg(w, X30, RET(1) | SIGNATURE);
	world_set_reg(w, X29, WORLD_SP + 160);
	store_pair(w, 160, WORLD_SP + 900, RET(2) | SIGNATURE);
	world_set_rule(w, 1, pair_at(64, 0));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* The function has made a call: the link register is its own, and the frame gives the caller. */
CASE(assembler_that_has_called)
{
	struct world *w = *state;

	world_set_reg(w, X30, RET(5)); /* no CFI there either: the same code */
	world_set_reg(w, X29, WORLD_SP + 16);
	store_pair(w, 16, 0, RET(1));
	world_set_rule(w, 1, END);
	EXPECT(w, STACK_WHOLE, RET(1));
}

/* Only for the leaf: in other frames, a call has overwritten the register. */
CASE(link_register_of_caller)
{
	struct world *w = *state;

	world_set_rule(w, 0, pair_at(16, 0));
	store_pair(w, 0, 0, ANON(2));
	world_set_reg(w, X30, RET(1));
	world_set_rule(w, 1, END);
	EXPECT(w, STACK_BROKEN, ANON(2));
}

/* glibc's _dl_runtime_resolve: the words that the PLT pushed are above its CFI's CFA. */
CASE(resolver)
{
	struct world *w = *state;
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 208);

	rule.ra_offset = 1;
	world_set_rule(w, 0, rule);
	world_store(w, 216, RET(1));
	world_set_reg(w, X29, WORLD_SP + 240);
	store_pair(w, 240, WORLD_SP + 900, RET(2));
	world_set_rule(w, 1, pair_at(48, 16));
	world_set_rule(w, 2, END);
	/* At the place that the CFA implies. */
	world_store(w, 208 + 24, RET(3));
	world_set_rule(w, 3, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

CASE(own_mask)
{
	uint64_t mask = walk_own_pc_mask();

	/* This program's addresses are left whole. */
	assert_int_equal((uintptr_t)&own_mask & mask, (uintptr_t)&own_mask);
	assert_int_equal(mask & 0xfffffffffull, 0xfffffffffull);
}
