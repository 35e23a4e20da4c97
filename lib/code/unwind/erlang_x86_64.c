/* SPDX-License-Identifier: MIT */
/*
 * Erlang's compiled code on x86-64 (erts/emulator/beam/jit/x86/beam_asm.hpp in its source). To call
 * C, it leaves the process's stack by
 *
 *	mov %rsp,%rbp	or	movups %xmm0,n(%r13) and the like, to the process's structure
 *	lea n(%rbx),%rsp
 *
 * and returns to it by "mov %rbp,%rsp" or "mov n(%r13),%rsp". A store of the process's reductions
 * may stand before the lea. Functions allocate their variables by "sub $n,%rsp". Until they have
 * set them, old return addresses may lie there.
 */
#include "lib/code/unwind/erlang_x86_64.h"

#include "lib/code/unwind/arch.h"

#define SWITCH "\x48\x8d\x63" /* lea n(%rbx),%rsp */
#define RETURN "\x49\x8b\x65" /* mov n(%r13),%rsp */
#define ALLOCATE "\x48\x83\xec" /* sub $n,%rsp */
#define SIZE 4 /* of these with n, a byte, and of "mov %r14,n(%r13)" */
#define KEEP "\x48\x89\xe5" /* mov %rsp,%rbp */
#define FREE "\x48\x83\xc4" /* add $n,%rsp */
/* Maximum bytes of code that sets a variable, and some before it. */
#define SET_SIZE 12

/* Returns whether the instruction that ends at `at` keeps rsp in rbp. */
static bool keeps_sp(const struct stub_code *code, size_t at)
{
	return at >= 3 && stub_has(code, at - 3, KEEP);
}

/* Returns whether the instruction that ends at `at` has n(%r13) as its operand. */
static bool has_process(const struct stub_code *code, size_t at)
{
	return at >= SIZE && (code->code[at - 2] & 0xc7) == 0x45;
}

static bool stores_reductions(const struct stub_code *code, size_t at)
{
	return at >= SIZE && code->code[at - SIZE + 1] == 0x89 && code->code[at - SIZE + 2] == 0x75;
}

/* Returns the offset of the process's stack in its structure, in words; 0: unknown. */
static int16_t stack_offset(const struct stub_code *code)
{
	const uint8_t *found = memmem(code->code, code->size, RETURN, strlen(RETURN));
	size_t at = found ? (size_t)(found - code->code) : code->size;

	return at + SIZE <= code->size ? (int8_t)code->code[at + SIZE - 1] / 8 : 0;
}

/* Sets the rule of code from the lea at `at` on. Returns false if it is another instruction. */
static bool set_switch(struct unwind_rule *rule, const struct stub_code *code, size_t at,
		       int16_t stack)
{
	size_t before = at;

	if (!stub_has(code, at, SWITCH))
		return false;
	if (stores_reductions(code, at) && !keeps_sp(code, at))
		before -= SIZE;
	if (!keeps_sp(code, before) && !has_process(code, at))
		return false;
	rule->cfa_offset = (int8_t)code->code[at + SIZE - 1];
	rule->cfa_deref = keeps_sp(code, before) ? 0 : stack;
	return true;
}

/* Returns whether the code at `at` cannot continue with the allocated frame. */
static bool may_leave(const struct stub_code *code, size_t at)
{
	const uint8_t opcode = code->code[at];

	return opcode == 0xc3 || opcode == 0xe9 || opcode == 0xeb || stub_has(code, at, FREE);
}

void erlang_x86_64(struct stubs *stubs, const struct stub_code *code)
{
	struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_ERLANG, .cfa_reg = UNWIND_REG_SP};
	const int16_t stack = stack_offset(code);
	size_t set = 0; /* end of the code that sets variables */

	stubs_add_row(stubs, code->vaddr, rule);
	for (size_t at = 0; at + SIZE <= code->size; at++) {
		bool has_changed = set_switch(&rule, code, at, stack);

		if (rule.ra_offset && (has_changed || at == set || may_leave(code, at))) {
			rule.ra_offset = 0;
			has_changed = true;
		}
		if (has_changed)
			stubs_add_row(stubs, code->vaddr + at, rule);
		if (!stub_has(code, at, ALLOCATE) || (int8_t)code->code[at + SIZE - 1] <= 0 ||
		    code->code[at + SIZE - 1] % 8)
			continue;
		rule.ra_offset = code->code[at + SIZE - 1] / 8;
		at += SIZE;
		set = at + SET_SIZE * (1u + (unsigned int)rule.ra_offset);
		stubs_add_row(stubs, code->vaddr + at, rule);
		at--;
	}
}
