/* SPDX-License-Identifier: MIT */
/* The walker without CFI: how it goes on, how stacks end, and which flags it sets. */

#include <string.h>

#include "bpf/saved_words.h"
#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define X86_RBP 6
#define ARM_X29 29
#define ARM_X30 30

/* Puts an x86-64 instruction of 5 bytes before `end`: a call (e8) or jump (e9) of `target`. */
static void put_branch(struct world *w, uint64_t end, uint8_t opcode, uint64_t target)
{
	uint32_t offset = (uint32_t)(target - end);
	char code[5] = {(char)opcode};

	memcpy(code + 1, &offset, sizeof(offset));
	world_put_code_before(w, end, code, sizeof(code));
}

static void put_call(struct world *w, uint64_t end, uint64_t target)
{
	put_branch(w, end, 0xe8, target);
}

static void put_indirect_call(struct world *w, uint64_t end)
{
	world_put_code_before(w, end, "\xff\xd0", 2);
}

static void link_pair(struct world *w, int at, int next, uint64_t pc)
{
	world_store(w, at, next ? WORLD_SP + (uint64_t)next : 0);
	world_store(w, at + 8, pc);
}

#define CASE(name) TEST_WITH(name, world_setup, world_teardown)

CASE(outermost_frame)
{
	struct world *w = *state;

	world_set_rule(w, 0, END);
	EXPECT_NONE(w, STACK_WHOLE);
}

/* Code without CFI at the entry starts a program; in a library it is an ordinary function. */
CASE(entry)
{
	struct world *w = *state;

	w->mappings[0].entry = WORLD_VADDR + 4 * WORLD_FUNC_SIZE;
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, RET(4));
	world_store(w, 8, RET(5));
	EXPECT(w, STACK_WHOLE, RET(4));
	world_set_rule(w, 4, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 5, END);
	EXPECT(w, STACK_WHOLE, RET(4), RET(5));
	/* Later code is not the entry. */
	world_set_rule(w, 4, (struct unwind_rule){0});
	w->mappings[0].entry -= 128;
	w->target.methods = UNWIND_BY_CFI;
	EXPECT(w, STACK_BROKEN, RET(4));
}

/* Go has 0 as the outermost frame's return address; the ABI of frame pointers demands it. */
CASE(no_return_address)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, RET(1));
	EXPECT(w, STACK_WHOLE, RET(1));
	/* A handler may have interrupted a call of NULL. */
	w->rules[UNWIND_RULE_FIRST + 1].flags = UNWIND_SIGNAL_FRAME;
	EXPECT(w, STACK_BROKEN, RET(1), 0);
}

/* Code that was interrupted may have 0 where its rule has the return address, as may guesses. */
CASE(zero_is_no_proof_of_an_end)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	EXPECT_NONE(w, STACK_BROKEN);
	world_store(w, 16, RET(1));
	put_call(w, RET(1), START(0));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 8));
	EXPECT(w, STACK_BROKEN | STACK_GUESSED, RET(1));
	world_set_rule(w, 1, END);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
}

CASE(cfa_must_grow)
{
	struct world *w = *state;

	w->target.methods = UNWIND_BY_CFI;
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 16));
	world_store(w, 8, RET(1));
	world_store(w, 0, RET(1));
	for (int offset = -8; offset <= 0; offset += 8) {
		world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, offset));
		EXPECT(w, STACK_BROKEN, RET(1));
	}
	/* The top frame may have an empty stack, but not a negative one. */
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, -8));
	EXPECT_NONE(w, STACK_BROKEN);
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 0));
	world_set_rule(w, 1, END);
	world_store(w, -8, RET(1));
	EXPECT(w, STACK_WHOLE, RET(1));
}

CASE(unreadable_stack)
{
	struct world *w = *state;

	w->target.methods = UNWIND_BY_CFI;
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_FP, 16));
	world_set_reg(w, X86_RBP, UINT64_MAX - 64);
	EXPECT_NONE(w, STACK_BROKEN);
	world_set_reg(w, X86_RBP, WORLD_SP);
	w->target.stack_start = WORLD_SP + 16;
	EXPECT_NONE(w, STACK_BROKEN);
}

/* The stack behind the copy was cut off; no other word in the copy is its caller. */
CASE(end_of_copy)
{
	struct world *w = *state;
	int room = (WORLD_STACK_WORDS - WORLD_SP_WORD) * 8;

	put_call(w, RET(1), START(0));
	world_store(w, 0, RET(1));
	world_set_reg(w, X86_RBP, WORLD_SP);
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, room + 8));
	EXPECT_NONE(w, STACK_TRUNCATED);
	/* The last word of the stack. */
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, room));
	world_set_rule(w, 2, END);
	world_store(w, room - 8, RET(2));
	EXPECT(w, STACK_WHOLE, RET(2));
}

CASE(by_frame_pointers)
{
	struct world *w = *state;

	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 64, ANON(1));
	link_pair(w, 64, 128, ANON(2));
	link_pair(w, 128, 200, RET(1));
	world_set_rule(w, 1, FRAMED);
	link_pair(w, 200, 0, RET(2));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, ANON(1), ANON(2), RET(1), RET(2));
	for (uint32_t i = 0; i < w->path.depth; i++)
		assert_int_equal(w->kinds[i], FRAME_NATIVE);
	w->target.methods = UNWIND_BY_CFI;
	EXPECT_NONE(w, STACK_BROKEN);
}

CASE(end_of_frame_pointers)
{
	struct world *w = *state;

	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 0, ANON(1));
	EXPECT(w, STACK_WHOLE, ANON(1));
	/* 0 in rbp means nothing by itself. */
	world_set_reg(w, X86_RBP, 0);
	EXPECT_NONE(w, STACK_BROKEN);
}

CASE(bad_frame_pointers)
{
	const uint64_t bad[] = {WORLD_SP + 4,
				WORLD_SP - 8,
				WORLD_STACK - 16,
				WORLD_STACK + WORLD_STACK_WORDS * 8 - 8,
				0,
				UINT64_MAX - 7};
	struct world *w = *state;

	w->target.methods &= ~UNWIND_BY_SCAN;
	for (int at = -16; at < 32; at += 8)
		world_store(w, at, ANON(1));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		world_set_reg(w, X86_RBP, bad[i]);
		world_walk(w);
		assert_int_equal(w->path.depth, 0);
	}
	/* A return address must be code. */
	world_set_reg(w, X86_RBP, WORLD_SP);
	world_store(w, 8, WORLD_ANON);
	EXPECT_NONE(w, STACK_BROKEN);
	world_store(w, 8, WORLD_ANON + UNWIND_PAGE_SIZE); /* behind a call that does not return */
	EXPECT(w, STACK_BROKEN, WORLD_ANON + UNWIND_PAGE_SIZE);
}

/* On arm64 a frame pointer says nothing about where the frame ends. */
CASE(arm64_frame_pointers)
{
	struct world *w = *state;

	w->target.is_arm64 = true;
	w->target.methods &= ~UNWIND_BY_SCAN;
	world_set_reg(w, ARM_X29, WORLD_SP + 32);
	link_pair(w, 32, 160, RET(1));
	link_pair(w, 160, 320, RET(2));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 48)); /* points nowhere; not tried */
	world_set_rule(w, 2, END);
	world_store(w, 88, RET(3));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* Code without CFI that has not called anything yet. */
CASE(arm64_link_register)
{
	struct world *w = *state;

	w->target.is_arm64 = true;
	w->regs.pc = ANON(3);
	world_set_reg(w, ARM_X29, WORLD_SP + 32);
	world_set_reg(w, ARM_X30, RET(1));
	world_set_rule(w, 1, END);
	link_pair(w, 32, 0, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1));
	/* It has called: the register points into its own code. */
	world_set_reg(w, ARM_X30, ANON(2));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, RET(2));
}

CASE(by_scan)
{
	struct world *w = *state;

	world_store(w, 0, 0x1234);
	world_store(w, 8, RET(5)); /* code, but not behind a call */
	world_store(w, 16, RET(1));
	put_call(w, RET(1), START(0));
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 2, END);
	world_store(w, 24, RET(2));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	assert_int_equal(w->kinds[0], FRAME_GUESS);
	assert_int_equal(w->kinds[1], FRAME_NATIVE);
	w->target.methods &= ~UNWIND_BY_SCAN;
	EXPECT_NONE(w, STACK_BROKEN);
	w->target.methods |= UNWIND_BY_SCAN;
	w->target.read_code = NULL;
	EXPECT_NONE(w, STACK_BROKEN);
}

/* Generated code uses rbp as it likes; the function that called it has pushed its own. */
CASE(a_guess_brings_its_frame_pointer)
{
	struct world *w = *state;

	world_store(w, 16, WORLD_SP + 64);
	world_store(w, 24, RET(1));
	put_call(w, RET(1), START(0));
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 2, END);
	world_store(w, 64, 0);
	world_store(w, 72, RET(2));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	/* A plausible one is kept. */
	world_set_reg(w, X86_RBP, WORLD_SP + 96);
	world_store(w, 104, RET(3));
	world_set_rule(w, 3, END);
	w->target.methods &= ~UNWIND_BY_FRAME_POINTER;
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(3));
}

/* Code of no table, from the interrupted instruction on. */
static void put_generated(struct world *w, const char *bytes, size_t size)
{
	w->mappings[0].flags = 0;
	world_put_code_before(w, IN(0) + size, bytes, size);
	world_set_reg(w, X86_RBP, WORLD_SP + 96);
	world_store(w, 96, 0);
	world_store(w, 104, RET(3));
}

CASE(generated_code_returns_by_its_frame_pointer_or_without)
{
	struct world *w = *state;

	world_store(w, 8, WORLD_SP + 64);
	world_store(w, 24, RET(1));
	put_indirect_call(w, RET(1));
	world_store(w, 64, 0);
	world_store(w, 72, RET(2));
	/* mov 8(%rsp),%rbp; add $16,%rsp; pop %r12; ret */
	put_generated(w, "\x48\x8b\x6c\x24\x08\x48\x83\xc4\x10\x41\x5c\xc3", 12);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	put_generated(w, "\x90\x48\x81\xc4\x18\0\0\0\xc3", 9);
	EXPECT(w, STACK_WHOLE, RET(1), RET(3));
	/* A pop alone begins no sequence that add ends. */
	put_generated(w, "\x5b\x90\x48\x83\xc4\x18\xc3\x90\x90", 9);
	EXPECT(w, STACK_WHOLE, RET(1), RET(3));
	put_generated(w, "\x48\x83\xc4\x18\xc9\xc3\x90\x90\x90", 9);
	EXPECT(w, STACK_WHOLE, RET(3));
	/* V8's code frees its arguments, too. */
	put_generated(w, "\x48\x8b\xe5\x5d\x48\x83\xc4\x10\xc3", 9);
	EXPECT(w, STACK_WHOLE, RET(3));
	/* Another function is next: this one's return is not understood. */
	put_generated(w, "\x31\xc0\xc3\xcc\x48\x83\xc4\x18\xc3", 9);
	EXPECT(w, STACK_WHOLE, RET(3));
	/* It has no frame yet. */
	put_generated(w, "\x48\x83\xec\x10\x48\x83\xc4\x10\xc3", 9);
	w->regs.sp = WORLD_SP + 24;
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(3));
}

CASE(scan_goes_so_far)
{
	struct world *w = *state;

	put_call(w, RET(1), START(0));
	world_set_rule(w, 1, END);
	world_store(w, 256 * 8, RET(1));
	EXPECT_NONE(w, STACK_BROKEN);
	world_store(w, 255 * 8, RET(1));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
}

/* Function 3 has returned to function 1, which was a callee of an earlier callee of function 2. */
static void leave_return_address(struct world *w)
{
	world_store(w, 0, RET(1));
	put_call(w, RET(1), START(3));
	world_store(w, 16, RET(2));
	put_indirect_call(w, RET(2));
	world_set_rule(w, 1, END);
	world_set_rule(w, 2, END);
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 16));
}

/* A function with a rule, and not the interrupted one, is called with an address; it returned. */
CASE(a_call_of_another_function_is_no_caller)
{
	struct world *w = *state;

	leave_return_address(w);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
	world_store(w, 16, 0);
	EXPECT_NONE(w, STACK_BROKEN);
	/* Its code cannot be read. */
	put_call(w, RET(1), START(WORLD_FUNCS - 1) + 255);
	world_set_rule(w, WORLD_FUNCS - 1, SIMPLE(UNWIND_REG_SP, 16));
	w->mappings[0].end += 8;
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
}

/* The called function jumped here: to a place that it read, or in the frame that it shares. */
CASE(a_call_of_a_function_that_jumps_on_is_a_caller)
{
	const uint64_t end = START(3) + 256;
	struct world *w = *state;

	leave_return_address(w);
	world_put_code_before(w, end, "\xff\xe0", 2); /* jmp *%rax */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
	world_put_code_before(w, end, "\x90\x90", 2);
	world_put_code_before(w, end + 1, "\xff\xe0", 2); /* its last byte is too far */
	world_put_code_before(w, end - 64, "\xff\xff\x66\x90", 4); /* of a negative number */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
	put_branch(w, end, 0xe9, START(0) + 8);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
	put_branch(w, end, 0xe9, START(4));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 8));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
}

/* Generated code has not the rules of a file, and no file calls it by its address. */
CASE(generated_code_is_called_by_generated_code)
{
	struct world *w = *state;

	w->regs.pc = ANON(0);
	leave_return_address(w);
	put_call(w, RET(1), START(0)); /* assembler of the file */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
	put_call(w, RET(1), ANON(4));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
}

/* A rule that leads nowhere still belongs to the function: its own caller is one. */
CASE(a_call_of_the_function_itself_is_a_caller)
{
	struct world *w = *state;

	leave_return_address(w);
	w->regs.pc = IN(3);
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 48));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
	w->regs.pc = IN(0);
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 48));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
}

CASE(calls_of_other_functions_on_arm64)
{
	struct world *w = *state;

	w->target.is_arm64 = true;
	leave_return_address(w);
	world_put_code_before(w, RET(1), "\x79\x00\x00\x94", 4); /* bl START(3) */
	world_put_code_before(w, RET(2), "\x20\x00\x3f\xd6", 4); /* blr x1 */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
	world_put_code_before(w, START(3) + 8, "\x20\x00\x1f\xd6", 4); /* br x1 */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
	world_put_code_before(w, START(3) + 8, "\x40\xff\xff\x17", 4); /* b START(0) + 4 */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1));
	world_put_code_before(w, START(3) + 8, "\x10\x00\x00\x14", 4); /* b START(3) + 68 */
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2));
}

/* Compilers give functions that call none no frame, also where all others have frame pointers. */
CASE(a_leaf_among_frame_pointers)
{
	struct world *w = *state;

	put_call(w, RET(1), START(0));
	world_store(w, 0, RET(1));
	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 0, RET(2));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	assert_int_equal(w->kinds[0], FRAME_GUESS);
	assert_int_equal(w->kinds[1], FRAME_NATIVE);
	/* A function with a frame, interrupted behind the push of rbp, and before. */
	world_put_code_before(w, START(0) + 5, "\xf3\x0f\x1e\xfa\x55", 5);
	EXPECT(w, STACK_WHOLE, RET(2));
	w->regs.pc = START(0) + 4;
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	/* At its first byte, a call of it proves that it has none. */
	w->regs.pc = START(0);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	/* A word that an earlier call of another function left. */
	w->regs.pc = IN(0);
	put_call(w, RET(1), START(3));
	EXPECT(w, STACK_WHOLE, RET(2));
	put_call(w, RET(1), START(0) + 8);
	w->regs.pc = START(16) + 8;
	EXPECT(w, STACK_WHOLE, RET(2));
	w->regs.pc--;
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	/* The callers of other frames are where the frame pointer is. */
	w->regs.pc = IN(4);
	world_set_rule(w, 4, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, RET(5));
	world_store(w, 8, RET(1));
	EXPECT(w, STACK_WHOLE, RET(5), RET(2));
}

/* Generated code without a frame, called by its address from functions with frame pointers. */
CASE(the_frame_pointer_of_a_caller)
{
	struct world *w = *state;

	w->regs.pc = ANON(0);
	world_store(w, 8, RET(1));
	put_indirect_call(w, RET(1));
	world_set_rule(w, 1, FRAMED);
	world_set_rule(w, 3, FRAMED);
	world_set_rule(w, 2, END);
	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 0, RET(2));
	put_indirect_call(w, RET(2));
	EXPECT(w, STACK_WHOLE, RET(2));
	/* A builtin of a runtime, which sets no frame pointer, and jumps to the code far on. */
	put_call(w, RET(2), START(1));
	EXPECT(w, STACK_WHOLE, RET(2));
	/* The function that calls the code: it sets the frame pointer in one of these ways. */
	world_put_code_before(w, START(1) + 4, "\x55\x48\x89\xe5", 4);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	world_put_code_before(w, START(1) + 4, "\x55\x48\x8b\xec", 4);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	world_put_code_before(w, START(1) + 8, "\x48\x8d\x6c\x24\x40\x90\x90\x90", 8);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(2));
	/* The code has a frame, and is called itself. */
	put_call(w, RET(2), ANON(0));
	EXPECT(w, STACK_WHOLE, RET(2));
}

/* Code that returns behind its call tells where its caller is, whatever else lies on the stack. */
CASE(code_that_returns_at_once)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, RET(1));
	world_put_code_before(w, RET(1) + 5, "\x48\x83\xc4\x18\xc3", 5); /* add $24,%rsp; ret */
	world_store(w, 16, RET(3));
	put_indirect_call(w, RET(3));
	world_set_rule(w, 3, END);
	world_store(w, 8 + 24, RET(2));
	put_indirect_call(w, RET(2));
	world_set_rule(w, 2, END);
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
	assert_int_equal(w->kinds[1], FRAME_NATIVE);
	/* No multiple of a word, more code before the return, no call before the address. */
	world_put_code_before(w, RET(1) + 5, "\x48\x83\xc4\x1c\xc3", 5);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(3));
	world_put_code_before(w, RET(1) + 5, "\x48\x83\xc4\x18\x90", 5);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(3));
	world_put_code_before(w, RET(1) + 5, "\x48\x83\xc4\x18\xc3", 5);
	world_store(w, 8 + 24, RET(4));
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(1), RET(3));
	/* ret */
	world_put_code_before(w, RET(1) + 1, "\xc3", 1);
	world_store(w, 8, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1), RET(2));
}

/* Words are tried in turn: rules lead from the true caller to the end of the stack. */
CASE(the_guess_that_leads_to_the_end)
{
	struct world *w = *state;

	for (uint32_t n = 1; n <= 3; n++) {
		put_indirect_call(w, RET(n));
		world_store(w, (int)n * 16, RET(n));
	}
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 64));
	world_set_rule(w, 2, SIMPLE(UNWIND_REG_SP, 64));
	world_set_rule(w, 3, SIMPLE(UNWIND_REG_SP, 64));
	world_store(w, 24 + 56, 1234);
	world_store(w, 40 + 56, RET(4));
	world_store(w, 56 + 56, RET(4));
	world_set_rule(w, 4, END);
	EXPECT(w, STACK_WHOLE | STACK_GUESSED, RET(2), RET(4));
	assert_int_equal(w->kinds[0], FRAME_GUESS);
	assert_int_equal(w->kinds[1], FRAME_NATIVE);
	/* None does: the nearest, and what follows from it. */
	world_set_rule(w, 4, SIMPLE(UNWIND_REG_SP, 4096 * 8));
	EXPECT(w, STACK_GUESSED | STACK_BROKEN, RET(1), 1234);
}

struct encoding {
	const char *bytes;
	size_t size;
	bool is_call;
};

static void check_encodings(struct world *w, const struct encoding *encodings, size_t count)
{
	world_set_rule(w, 1, END);
	world_store(w, 0, RET(1));
	for (size_t i = 0; i < count; i++) {
		memset(w->code, 0x90, sizeof(w->code));
		world_put_code_before(w, RET(1), encodings[i].bytes, encodings[i].size);
		world_walk(w);
		assert_int_equal(w->path.depth, encodings[i].is_call);
	}
}

#define BYTES(text, is_call) text, sizeof(text) - 1, is_call

CASE(calls_of_x86_64)
{
	const struct encoding encodings[] = {
		{BYTES("\xe8\xe0\xfe\xff\xff", true)}, /* call START(0) */
		{BYTES("\xe8\x10\x20\x30\x40", false)}, /* call of an address without code */
		{BYTES("\xff\xd0", true)}, /* call *%rax */
		{BYTES("\x41\xff\xd3", true)}, /* call *%r11 */
		{BYTES("\xff\x10", true)}, /* call *(%rax) */
		{BYTES("\xff\x50\x18", true)}, /* call *24(%rax) */
		{BYTES("\xff\x54\xd8\x10", true)}, /* call *16(%rax,%rbx,8) */
		{BYTES("\xff\x14\xd8", true)}, /* call *(%rax,%rbx,8) */
		{BYTES("\xff\x15\x01\x02\x03\x04", true)}, /* call *x(%rip) */
		{BYTES("\xff\x90\x01\x02\x03\x04", true)}, /* call *x(%rax) */
		{BYTES("\xff\x94\xd8\x01\x02\x03\x04", true)}, /* call *x(%rax,%rbx,8) */
		{BYTES("\xff\xe0", false)}, /* jmp *%rax */
		{BYTES("\xe9\x10\x20\x30\x40", false)}, /* jmp rel32 */
		{BYTES("\xff\x30", false)}, /* push (%rax) */
		{BYTES("\x90\x90\x90\x90\x90\x90\x90\x90", false)},
	};

	check_encodings(*state, encodings, sizeof(encodings) / sizeof(encodings[0]));
}

CASE(calls_of_arm64)
{
	const struct encoding encodings[] = {
		{BYTES("\xb9\x01\x00\x94", true)}, /* bl START(8) */
		{BYTES("\xb9\xff\xff\x97", true)}, /* bl START(0) */
		{BYTES("\x10\x00\x00\x95", false)}, /* bl to an address without code */
		{BYTES("\x20\x00\x3f\xd6", true)}, /* blr x1 */
		{BYTES("\x10\x00\x00\x14", false)}, /* b */
		{BYTES("\x20\x00\x1f\xd6", false)}, /* br x1 */
		{BYTES("\xc0\x03\x5f\xd6", false)}, /* ret */
	};
	struct world *w = *state;

	w->target.is_arm64 = true;
	check_encodings(w, encodings, sizeof(encodings) / sizeof(encodings[0]));
}

/* A system call may be a function's last instruction, with the pc behind it. */
CASE(pc_behind_function)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 2, END);
	world_store(w, 0, RET(2));
	w->regs.pc = START(1);
	EXPECT(w, STACK_WHOLE, RET(2));
	w->regs.pc++;
	w->target.methods = UNWIND_BY_CFI;
	EXPECT_NONE(w, STACK_BROKEN);
}

/* Return addresses of fibers' first functions and of handlers, before which there is no call. */
CASE(return_to_the_start_of_a_function)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, START(2));
	world_store(w, 8, RET(3));
	world_set_rule(w, 2, SIMPLE(UNWIND_REG_SP, 8));
	world_set_rule(w, 3, END);
	EXPECT(w, STACK_WHOLE, START(2));
	w->rules[UNWIND_RULE_FIRST + 2].flags = UNWIND_SIGNAL_FRAME;
	EXPECT(w, STACK_WHOLE, START(2), RET(3));
	w->rules[UNWIND_RULE_FIRST + 2].flags = 0;
	/* A guess may lead to any pointer to a function. */
	w->rules[UNWIND_RULE_FIRST] = (struct unwind_rule){0};
	world_store(w, 0, RET(5));
	put_indirect_call(w, RET(5));
	world_set_rule(w, 5, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 8, START(2));
	world_store(w, 16, RET(3));
	EXPECT(w, STACK_BROKEN | STACK_GUESSED, RET(5), START(2));
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	world_store(w, 0, START(2));
	world_store(w, 8, RET(3));
	/* A call that does not return, at the end of code without a rule. */
	put_call(w, START(2), START(3));
	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 0, RET(4));
	world_set_rule(w, 4, END);
	EXPECT(w, STACK_WHOLE, START(2), RET(4));
	/* Its rule, where there is one, is right. */
	world_set_rule(w, 1, SIMPLE(UNWIND_REG_SP, 8));
	EXPECT(w, STACK_WHOLE, START(2), RET(3));
}

CASE(no_more_room)
{
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	for (int i = 0; i < 10; i++)
		world_store(w, 8 * i, RET(0));
	world_store(w, 80, RET(1));
	world_set_rule(w, 1, END);
	w->path.capacity = 5;
	EXPECT(w, STACK_TRUNCATED, RET(0), RET(0), RET(0), RET(0), RET(0));
	w->path.capacity = 11;
	world_walk(w);
	assert_int_equal(w->path.flags, STACK_WHOLE);
	assert_int_equal(w->path.depth, 11);
	w->path.capacity = 0;
	EXPECT_NONE(w, STACK_TRUNCATED);
}

/* Nothing is known of the place, or only of its caller. */
CASE(unknown_or_broken)
{
	const uint64_t nowhere[] = {0,
				    1,
				    WORLD_CODE - 1,
				    WORLD_CODE + WORLD_FUNCS * WORLD_FUNC_SIZE,
				    WORLD_ANON + UNWIND_PAGE_SIZE,
				    UINT64_MAX};
	struct world *w = *state;

	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 8));
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		w->regs.pc = nowhere[i];
		EXPECT_NONE(w, STACK_UNKNOWN);
	}
	w->regs.pc = IN(0);
	world_store(w, 0, WORLD_CODE - 1);
	EXPECT(w, STACK_BROKEN, WORLD_CODE - 1);
	w->target.mapping_count = 0;
	EXPECT_NONE(w, STACK_UNKNOWN);
}

/* Frames are not guessed while a table is being compiled. */
CASE(pending_table)
{
	struct world *w = *state;

	world_set_reg(w, X86_RBP, WORLD_SP + 32);
	link_pair(w, 32, 0, ANON(1));
	w->mappings[0].flags = UNWIND_PENDING;
	EXPECT_NONE(w, STACK_UNKNOWN);
	w->regs.pc = ANON(0);
	world_store(w, 40, RET(1));
	EXPECT(w, STACK_UNKNOWN, RET(1));
}

#define POP_BYTES "\x5b\x41\x5c\x41\x5d\x41\x5e\x41\x5f"

/* Reads the code, followed by other code. */
static struct saved_words read_pops_of(const char *code, size_t size)
{
	__u64 words[3];

	memset(words, 0x90, sizeof(words));
	memcpy(words, code, size);
	return read_pops(words);
}

#define READ_POPS(code) read_pops_of(code, sizeof(code) - 1)

TEST(pops_of_a_shim)
{
	struct saved_words saved = READ_POPS(POP_BYTES "\xc3");

	assert_int_equal(saved.count, 5);
	assert_int_equal(saved.base_at, 0);
	assert_int_equal(saved.fp_at, 5);
	saved = READ_POPS("\x48\x83\xc4\x08" POP_BYTES "\x5d\xc3");
	assert_int_equal(saved.count, 7);
	assert_int_equal(saved.base_at, 1);
	assert_int_equal(saved.fp_at, 6);
	/* Others */
	assert_int_equal(READ_POPS(POP_BYTES).count, 0);
	assert_int_equal(READ_POPS(POP_BYTES "\x5d").count, 0);
	assert_int_equal(READ_POPS("\x5b\x41\x5c\xc3").count, 0);
	assert_int_equal(READ_POPS("\x48\x83\xc4\x18" POP_BYTES "\xc3").count, 0);
	assert_int_equal(READ_POPS("").count, 0);
}
