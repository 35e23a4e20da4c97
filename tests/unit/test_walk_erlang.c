/* SPDX-License-Identifier: MIT */
/*
 * Erlang's stacks: return addresses among terms, at sp or, for code that runs on the scheduler's
 * stack, where rbp or the process's structure says. The scheduler's stack is the copied one.
 */

#include <string.h>

#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define X86_RBX 3
#define X86_RBP 6
#define X86_R13 13
/* Place at which C is called, and that of the scheduler's registers. */
#define C_SP (WORLD_SP + 256)
#define REGISTERS (C_SP + 128)
#define PROCESS 0x20000ull
#define STOP_AT 11 /* words */
#define HEAP 0x50000ull
#define HEAP_WORDS 64
#define STOP (HEAP + 0x80)

/* Terms: a small integer, a list, a tuple. */
#define SMALL 0x1full
#define LIST (HEAP + 1)
#define TUPLE (HEAP + 2)

#define FUNCTION 0
#define CALLER 1
#define LAST 2
#define C 3

struct machine {
	struct world *world;
	uint64_t process[32], heap[HEAP_WORDS];
	struct walk_piece pieces[2];
};

static struct unwind_rule erlang_rule(int stop_at)
{
	return (struct unwind_rule){.cfa_kind = UNWIND_CFA_ERLANG,
				    .cfa_reg = UNWIND_REG_SP,
				    .cfa_offset = -128,
				    .cfa_deref = (int16_t)stop_at};
}

static void set_heap(struct machine *m, size_t at)
{
	m->process[STOP_AT - 1] = HEAP + 8;
	m->process[STOP_AT] = STOP;
	memset(m->process + STOP_AT + 1, 0, 64);
	m->process[at] = HEAP;
	m->process[at + 1] = HEAP + sizeof(m->heap);
}

/* The function has two terms on the process's stack, its caller none. */
static void begin(struct machine *m, struct world *w)
{
	const uint64_t stack[] = {SMALL, LIST, RET(CALLER), RET(LAST), TUPLE, RET(4)};

	*m = (struct machine){
		.world = w,
		.pieces = {{PROCESS, m->process, sizeof(m->process), false},
			   {HEAP, m->heap, sizeof(m->heap), false}},
	};
	memcpy(m->heap + (STOP - HEAP) / 8, stack, sizeof(stack));
	set_heap(m, STOP_AT + 5);
	w->target.pieces = m->pieces;
	w->target.piece_count = 2;
	world_set_rule(w, FUNCTION, erlang_rule(0));
	world_set_rule(w, CALLER, erlang_rule(0));
	world_set_rule(w, LAST, erlang_rule(0));
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 32));
	world_set_rule(w, 4, END);
	w->regs.sp = STOP;
	world_set_reg(w, X86_RBX, REGISTERS);
}

#define CASE(name) TEST_WITH(name, world_setup, world_teardown)

CASE(return_addresses_among_terms)
{
	struct machine m;

	begin(&m, *state);
	EXPECT(m.world, STACK_WHOLE, RET(CALLER), RET(LAST));
	/* A saved frame pointer, or a word that is not set yet. */
	m.heap[(STOP - HEAP) / 8] = STOP + 64;
	m.heap[(STOP - HEAP) / 8 + 1] = 0;
	EXPECT(m.world, STACK_WHOLE, RET(CALLER), RET(LAST));
}

CASE(pieces_of_code_are_called_from_anywhere)
{
	struct machine m;

	begin(&m, *state);
	m.heap[(STOP - HEAP) / 8] = RET(CALLER) + 1;
	world_put_code_before(m.world, RET(CALLER) + 1, "\xe8\0\0\0\0", 5);
	EXPECT(m.world, STACK_WHOLE, RET(CALLER) + 1, RET(CALLER), RET(LAST));
	/* Other words are terms: this one is a small integer. */
	world_put_code_before(m.world, RET(CALLER) + 1, "\x90\x90\x90\x90\x90", 5);
	EXPECT(m.world, STACK_WHOLE, RET(CALLER), RET(LAST));
}

static void begin_c(struct machine *m, struct world *w, int stop_at)
{
	begin(m, w);
	w->regs.pc = IN(C);
	w->regs.sp = C_SP - 32;
	world_store(w, 248, RET(FUNCTION));
	world_set_rule(w, FUNCTION, erlang_rule(stop_at));
}

CASE(c_that_leaves_the_stack_in_rbp)
{
	struct machine m;

	begin_c(&m, *state, 0);
	world_set_reg(m.world, X86_RBP, STOP);
	EXPECT(m.world, STACK_WHOLE, RET(FUNCTION), RET(CALLER), RET(LAST));
	world_set_reg(m.world, X86_RBP, 0);
	EXPECT(m.world, STACK_BROKEN, RET(FUNCTION));
}

CASE(c_whose_process_is_in_a_register)
{
	struct machine m;

	begin_c(&m, *state, STOP_AT);
	world_set_reg(m.world, X86_R13, PROCESS);
	EXPECT(m.world, STACK_WHOLE, RET(FUNCTION), RET(CALLER), RET(LAST));
	/* OTP 24 has one word less before the bounds of the heap. */
	set_heap(&m, STOP_AT + 4);
	EXPECT(m.world, STACK_WHOLE, RET(FUNCTION), RET(CALLER), RET(LAST));
	world_set_reg(m.world, X86_R13, PROCESS + 8);
	EXPECT(m.world, STACK_BROKEN, RET(FUNCTION));
}

CASE(c_that_has_saved_the_process)
{
	struct machine m;

	begin_c(&m, *state, STOP_AT);
	/* push %r13; push %r12 */
	world_store(m.world, 240, PROCESS);
	world_store(m.world, 232, 2);
	world_set_reg(m.world, X86_R13, 1);
	EXPECT(m.world, STACK_WHOLE, RET(FUNCTION), RET(CALLER), RET(LAST));
	/* Without an index of code beside it, the process may be another. */
	world_store(m.world, 232, 4);
	EXPECT(m.world, STACK_BROKEN, RET(FUNCTION));
}

CASE(code_interrupted_on_the_scheduler)
{
	struct machine m;

	begin_c(&m, *state, 0);
	m.world->regs.pc = IN(FUNCTION);
	m.world->regs.sp = C_SP;
	world_set_reg(m.world, X86_RBP, STOP);
	EXPECT(m.world, STACK_WHOLE, RET(CALLER), RET(LAST));
}

CASE(variables_that_are_not_set_yet)
{
	struct unwind_rule rule = erlang_rule(0);
	struct machine m;

	begin(&m, *state);
	m.heap[(STOP - HEAP) / 8] = RET(5);
	rule.ra_offset = 1;
	world_set_rule(m.world, FUNCTION, rule);
	EXPECT(m.world, STACK_WHOLE, RET(CALLER), RET(LAST));
}

CASE(a_stack_without_return_addresses)
{
	struct machine m;

	begin(&m, *state);
	memset(m.heap, 0xff, sizeof(m.heap));
	EXPECT_NONE(m.world, STACK_BROKEN);
}
