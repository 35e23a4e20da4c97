/* SPDX-License-Identifier: MIT */
/*
 * Steps from one stack to another, as Go's runtime does them: by the goroutine that the thread
 * runs, by the depth that asmcgocall notes, by a frame pointer. Stacks and structures that are
 * apart from the copied stack are pieces of their own.
 */

#include <string.h>

#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define X86_RBP 6
#define X86_R14 14
#define THREAD 0x10000ull
#define SYSTEM_G 0x20000ull
#define M 0x30000ull
#define CURRENT_G 0x40000ull
#define GO_STACK 0x50000ull
#define GO_STACK_SIZE 512
#define SAVED_SP (GO_STACK + 64)
/* Places of m in a g, of the saved sp there, of the current g in m; in words. */
#define M_AT 6
#define SP_AT 7
#define CURRENT_AT 24

/* A thread that is on its system stack, the copied one, and has left a goroutine's. */
struct machine {
	struct world *world;
	uint64_t thread[1], g[16], m[26], current[16], stack[GO_STACK_SIZE / 8];
	struct walk_piece pieces[5];
};

static const struct unwind_rule by_goroutine = {
	.cfa_kind = UNWIND_CFA_GOROUTINE,
	.cfa_reg = UNWIND_REG_SP,
	.kinds = KINDS(UNWIND_SAME, UNWIND_SAME, UNWIND_UNKNOWN),
	.cfa_deref = -1,
	.base_offset = (__s16)GO_PACK(M_AT, SP_AT, CURRENT_AT),
};

static void begin(struct machine *m, struct world *w)
{
	*m = (struct machine){
		.world = w,
		.thread = {SYSTEM_G},
		.g = {[M_AT] = M},
		.m = {[0] = SYSTEM_G, [CURRENT_AT] = CURRENT_G},
		.current = {[0] = GO_STACK,
			    [1] = GO_STACK + GO_STACK_SIZE,
			    [M_AT] = M,
			    [SP_AT] = SAVED_SP,
			    [SP_AT + 1] = RET(1)},
		.pieces = {{THREAD - 8, m->thread, sizeof(m->thread), false},
			   {SYSTEM_G, m->g, sizeof(m->g), false},
			   {M, m->m, sizeof(m->m), false},
			   {CURRENT_G, m->current, sizeof(m->current), false},
			   {SAVED_SP, m->stack, sizeof(m->stack), true}},
	};
	w->target.thread_pointer = THREAD;
	w->target.pieces = m->pieces;
	w->target.piece_count = 5;
	world_set_rule(w, 0, by_goroutine);
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 16));
	world_set_rule(w, 2, END);
	m->stack[1] = RET(2);
	/* A guess would find this. */
	world_put_code_before(w, RET(3), "\xe8\0\0\0\0", 5);
	world_set_rule(w, 3, END);
	world_store(w, 0, RET(3));
}

/* systemstack's rule: the pc is on the goroutine's stack. */
static void pc_on_stack(struct machine *m)
{
	m->world->rules[UNWIND_RULE_FIRST].kinds = KINDS(UNWIND_AT_CFA, UNWIND_SAME,
							 UNWIND_UNKNOWN);
	m->world->rules[UNWIND_RULE_FIRST].cfa_offset = 16;
	m->world->rules[UNWIND_RULE_FIRST].ra_offset = -1;
}

#define CASE(name) TEST_WITH(name, world_setup, world_teardown)

CASE(by_thread_local)
{
	struct machine m;

	begin(&m, *state);
	EXPECT(m.world, STACK_WHOLE, RET(1), RET(2));
	pc_on_stack(&m);
	EXPECT(m.world, STACK_WHOLE, RET(2));
}

CASE(by_register)
{
	struct unwind_rule rule = by_goroutine;
	struct machine m;

	begin(&m, *state);
	m.world->target.thread_pointer = 0;
	rule.cfa_reg = UNWIND_REG_OTHER + X86_R14;
	world_set_rule(m.world, 0, rule);
	world_set_reg(m.world, X86_R14, SYSTEM_G);
	EXPECT(m.world, STACK_WHOLE, RET(1), RET(2));
	/* Behind a frame without CFI nobody knows the register. */
	m.world->regs.pc = ANON(0);
	world_set_reg(m.world, X86_RBP, WORLD_SP + 32);
	world_store(m.world, 32, WORLD_SP + 64);
	world_store(m.world, 40, RET(0));
	m.world->target.methods = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER;
	EXPECT(m.world, STACK_BROKEN, RET(0));
}

/* A handler of signals has the register, too: what it interrupted is not asked for its own. */
CASE(by_register_of_a_handler)
{
	struct unwind_rule rule = by_goroutine, signal = SIMPLE(UNWIND_REG_SP, 16);
	struct machine m;

	begin(&m, *state);
	signal.flags = UNWIND_SIGNAL_FRAME;
	world_set_rule(m.world, 0, signal);
	world_store(m.world, 8, RET(4));
	rule.cfa_reg = UNWIND_REG_OTHER + X86_R14;
	world_set_rule(m.world, 4, rule);
	world_set_reg(m.world, X86_R14, SYSTEM_G);
	EXPECT(m.world, STACK_WHOLE, RET(4), RET(1), RET(2));
	/* No other rule may use it. */
	world_set_rule(m.world, 4, SIMPLE(UNWIND_REG_OTHER + X86_R14, 16));
	m.world->target.methods = UNWIND_BY_CFI;
	EXPECT(m.world, STACK_BROKEN, RET(4));
}

CASE(no_goroutine_is_an_end)
{
	struct machine m;

	begin(&m, *state);
	m.m[CURRENT_AT] = 0;
	EXPECT_NONE(m.world, STACK_WHOLE);
}

/*
 * Words that are no goroutine's lead nowhere. Nothing is guessed on the wrong stack, and no frame
 * pointer followed that leads to the stack that was left, past the function that left it.
 */
CASE(what_is_no_goroutine)
{
	struct machine m;

	begin(&m, *state);
	world_set_reg(m.world, X86_RBP, WORLD_SP + 32);
	world_store(m.world, 32, WORLD_SP + 64);
	world_store(m.world, 40, RET(3));
	m.current[M_AT] = M + 8;
	EXPECT_NONE(m.world, STACK_BROKEN);
	m.current[M_AT] = M;
	pc_on_stack(&m);
	m.current[1] = SAVED_SP - 8;
	EXPECT_NONE(m.world, STACK_BROKEN);
	m.current[1] = SAVED_SP;
	m.current[0] = SAVED_SP;
	EXPECT_NONE(m.world, STACK_BROKEN);
	m.world->target.thread_pointer = 0;
	EXPECT_NONE(m.world, STACK_BROKEN);
}

/* morestack leads to code that moves the stack: the bounds come first, then sp. */
CASE(while_the_stack_moves)
{
	struct machine m;

	begin(&m, *state);
	m.current[0] = GO_STACK + 65536;
	EXPECT(m.world, STACK_WHOLE, RET(1), RET(2));
	m.current[1] = m.current[0] + GO_STACK_SIZE;
	EXPECT(m.world, STACK_WHOLE, RET(1), RET(2));
	pc_on_stack(&m);
	EXPECT_NONE(m.world, STACK_BROKEN);
}

CASE(what_was_not_copied)
{
	struct machine m;

	begin(&m, *state);
	m.m[CURRENT_AT] = CURRENT_G + 4096;
	EXPECT_NONE(m.world, STACK_TRUNCATED);
	m.m[CURRENT_AT] = CURRENT_G;
	m.pieces[4].size = 8;
	EXPECT(m.world, STACK_TRUNCATED, RET(1));
}

CASE(by_depth)
{
	struct unwind_rule rule = SIMPLE(UNWIND_REG_SP, 16);
	struct machine m;

	begin(&m, *state);
	rule.cfa_kind = UNWIND_CFA_GO_DEPTH;
	rule.base_offset = 1;
	rule.cfa_deref = 2;
	world_set_rule(m.world, 0, rule);
	world_store(m.world, 8, CURRENT_G);
	world_store(m.world, 16, GO_STACK + GO_STACK_SIZE - SAVED_SP);
	EXPECT(m.world, STACK_WHOLE, RET(2));
	/* Deeper than the stack. */
	world_store(m.world, 16, GO_STACK_SIZE + 8);
	m.world->target.methods = UNWIND_BY_CFI;
	EXPECT_NONE(m.world, STACK_BROKEN);
	/* Without a goroutine it is the sp. */
	world_store(m.world, 8, 0);
	world_store(m.world, 16, SAVED_SP);
	EXPECT(m.world, STACK_WHOLE, RET(2));
}

CASE(by_frame_pointer)
{
	struct unwind_rule rule = FRAMED;
	struct machine m;

	begin(&m, *state);
	rule.cfa_kind = UNWIND_CFA_OTHER_STACK;
	world_set_rule(m.world, 0, rule);
	/* The goroutine's stack lies below. */
	world_set_reg(m.world, X86_RBP, SAVED_SP);
	assert_true(SAVED_SP < WORLD_SP);
	EXPECT(m.world, STACK_WHOLE, RET(2));
	world_set_reg(m.world, X86_RBP, SAVED_SP + GO_STACK_SIZE);
	EXPECT_NONE(m.world, STACK_TRUNCATED);
}
