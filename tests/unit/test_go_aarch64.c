/* SPDX-License-Identifier: MIT */
/* Rows of the functions of Go's runtime on arm64, from their instructions, on any machine. */

#include <string.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/go_code.h"
#include "tests/unit/test.h"

#define VADDR 0x10000

enum {
	STR_X30_PUSH_16 = 0xf81f0ffe, /* str x30, [sp, #-16]! */
	STP_X20 = 0xa93ffa9d, /* stp x29, x30, [x20, #-8] */
	SUB_SP_192 = 0xd10303ff, /* sub sp, sp, #192 */
	STP_X29_X30_176 = 0xa90b7bfd, /* stp x29, x30, [sp, #176] */
	LDR_X3_M = 0xf9401b83, /* ldr x3, [x28, #48] */
	LDR_G_CURG = 0xf9405c7c, /* ldr x28, [x3, #184] */
	LDR_G_G0 = 0xf940011c, /* ldr x28, [x8] */
	LDR_X29_BP = 0xf940379d, /* ldr x29, [x28, #104] */
	LDR_X0_SP = 0xf9401f80, /* ldr x0, [x28, #56] */
	MOV_SP_X0 = 0x9100001f, /* mov sp, x0 */
	MOV_SP_X5 = 0x910000bf, /* mov sp, x5 */
	MOV_SP_X13 = 0x910001bf, /* mov sp, x13 */
	STR_X3_LR = 0xf9002f83, /* str x3, [x28, #88] */
	STR_X4_SP = 0xf90003e4, /* str x4, [sp] */
	STR_X4_SP_8 = 0xf90007e4, /* str x4, [sp, #8] */
	BLR_X1 = 0xd63f0020, /* blr x1 */
	NOP = 0xd503201f,
	RET = 0xd65f03c0,
};

struct fixture {
	struct stubs stubs;
	struct go_function function;
	struct go_layout layout;
};

static struct go_code code_of(const uint32_t *insns, size_t count)
{
	return (struct go_code){.bytes = (const uint8_t *)insns, .size = count * 4, .vaddr = VADDR};
}

#define CODE(...) \
	code_of((const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Mends a function that has one frame of `size` bytes. */
static void mend(struct fixture *f, const char *name, struct go_code code, uint64_t size)
{
	const struct go_special *special = go_arch_aarch64.specials;

	stubs_release(&f->stubs);
	f->stubs = (struct stubs){0};
	f->function = (struct go_function){.code = code, .rows = &f->stubs};
	stubs_add_row(&f->stubs, VADDR, go_arch_aarch64.frame(size, (struct go_saves){true, 0}));
	while (special->name && strcmp(special->name, name) != 0)
		special++;
	if (special->name)
		special->mend(&f->function, &f->layout);
	else
		go_arch_aarch64.mend_sp_writer(&f->function);
}

static struct unwind_rule rule_at(const struct fixture *f, size_t insn)
{
	return go_rule_at(&f->function, insn * 4);
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	f.layout = (struct go_layout){.is_known = true,
				      .g_reg = UNWIND_REG_OTHER + 28,
				      .packed = (uint16_t)GO_PACK(6, 7, 23)};
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	stubs_release(&((struct fixture *)*state)->stubs);
	return 0;
}

TEST(frames)
{
	struct unwind_rule rule = go_arch_aarch64.frame(0, (struct go_saves){true, 0});

	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_SAME);
	assert_int_equal(rule.ra_offset, UNWIND_REG_RA);
	rule = go_arch_aarch64.frame(48, (struct go_saves){true, 0});
	assert_int_equal(rule.cfa_offset, 48);
	assert_int_equal(rule.ra_offset, -6);
	assert_int_equal(rule.fp_offset, -7);
	/* A function of the assembler makes room below its frame. */
	rule = go_arch_aarch64.frame(48, (struct go_saves){true, 4});
	assert_int_equal(rule.cfa_offset, 48);
	assert_int_equal(rule.ra_offset, -4);
	rule = go_arch_aarch64.frame(48, (struct go_saves){false, 0});
	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_SAME);
	rule = go_arch_aarch64.frame(1u << 20, (struct go_saves){true, 0});
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_NONE);
}

TEST(what_assembler_saves)
{
	struct go_code code = CODE(STR_X30_PUSH_16);

	assert_int_equal(go_arch_aarch64.saves(&code).at, 2);
	code = CODE(NOP, STP_X20);
	assert_true(go_arch_aarch64.saves(&code).is_saved);
	assert_int_equal(go_arch_aarch64.saves(&code).at, 0);
	/* crosscall2 */
	code = CODE(SUB_SP_192, STP_X29_X30_176);
	assert_int_equal(go_arch_aarch64.saves(&code).at, 1);
	code = CODE(NOP, RET);
	assert_false(go_arch_aarch64.saves(&code).is_saved);
}

TEST(layout)
{
	struct go_code code = CODE(NOP, LDR_X3_M, LDR_G_CURG, NOP, LDR_X0_SP, MOV_SP_X0);
	struct go_layout found = {0};

	go_arch_aarch64.read_layout(&found, &code, NULL);
	assert_true(found.is_known);
	assert_int_equal(found.packed, GO_PACK(6, 7, 23));
	assert_int_equal(found.g_reg, UNWIND_REG_OTHER + 28);
	found.is_known = false;
	code.size -= 4;
	go_arch_aarch64.read_layout(&found, &code, NULL);
	assert_false(found.is_known);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(systemstack_is_left_by_frame_pointer)
{
	struct fixture *f = *state;

	mend(f, "runtime.systemstack", CODE(NOP, MOV_SP_X0, BLR_X1, MOV_SP_X0, RET), 16);
	assert_int_equal(rule_at(f, 1).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 2).cfa_kind, UNWIND_CFA_OTHER_STACK);
	/* x29 points to the word below the frame, of 16 bytes. */
	assert_int_equal(rule_at(f, 2).cfa_offset, 24);
	assert_int_equal(rule_at(f, 2).ra_offset, -2);
	assert_int_equal(rule_at(f, 2).fp_offset, -3);
	assert_int_equal(rule_at(f, 4).cfa_kind, UNWIND_CFA_REG);
	mend(f, "runtime.nanotime1", CODE(MOV_SP_X0, BLR_X1, MOV_SP_X5, RET), 32);
	assert_int_equal(rule_at(f, 1).cfa_offset, 40);
	assert_int_equal(rule_at(f, 3).cfa_kind, UNWIND_CFA_REG);
}

/* Up to Go 1.24 the frame pointer is that of the system stack. */
CASE(systemstack_is_left_by_the_goroutine)
{
	struct fixture *f = *state;

	mend(f, "runtime.systemstack", CODE(NOP, MOV_SP_X0, LDR_X29_BP, BLR_X1, MOV_SP_X0, RET),
	     16);
	assert_int_equal(rule_at(f, 1).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 3).cfa_kind, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule_at(f, 3).cfa_reg, UNWIND_REG_OTHER + 28);
	assert_int_equal(rule_at(f, 3).cfa_offset, 16);
	assert_int_equal(rule_at(f, 3).ra_offset, -2);
	assert_int_equal(rule_at(f, 3).fp_offset, -3);
	assert_int_equal(rule_at(f, 5).cfa_kind, UNWIND_CFA_REG);
}

CASE(morestack_leads_to_the_goroutine)
{
	struct fixture *f = *state;

	mend(f, "runtime.morestack", CODE(STR_X3_LR, NOP, LDR_G_G0, NOP, MOV_SP_X0, BLR_X1), 0);
	/* The caller's link register is x3, and later beside the goroutine's pc. */
	assert_int_equal(rule_at(f, 1).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 1).flags, UNWIND_SIGNAL_FRAME);
	assert_int_equal(rule_at(f, 1).cfa_deref, 3);
	assert_int_equal(rule_at(f, 3).cfa_kind, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule_at(f, 3).cfa_reg, UNWIND_REG_OTHER + 28);
	assert_int_equal(rule_at(f, 3).cfa_deref, 11 - 8);
	assert_int_equal(rule_at(f, 5).flags, UNWIND_SIGNAL_FRAME);
	mend(f, "runtime.mcall", CODE(NOP, LDR_G_G0, NOP), 0);
	assert_int_equal(rule_at(f, 1).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 2).cfa_kind, UNWIND_CFA_END);
}

CASE(asmcgocall_keeps_the_depth)
{
	struct fixture *f = *state;

	mend(f, "runtime.asmcgocall",
	     CODE(NOP, MOV_SP_X0, MOV_SP_X13, STR_X4_SP, STR_X4_SP_8, BLR_X1, MOV_SP_X5, RET,
		  MOV_SP_X13, STR_X4_SP, STR_X4_SP_8, BLR_X1, MOV_SP_X0, RET),
	     16);
	assert_int_equal(rule_at(f, 0).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 4).cfa_kind, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule_at(f, 5).cfa_kind, UNWIND_CFA_GO_DEPTH);
	assert_int_equal(rule_at(f, 5).base_offset, 0);
	assert_int_equal(rule_at(f, 5).cfa_deref, 1);
	assert_int_equal(rule_at(f, 7).cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule_at(f, 9).cfa_kind, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(f, 11).cfa_kind, UNWIND_CFA_GO_DEPTH);
	assert_int_equal(rule_at(f, 13).cfa_kind, UNWIND_CFA_REG);
}

/* The interrupted code's pc is the return address, its link register was pushed. */
CASE(injected_calls)
{
	struct fixture *f = *state;

	mend(f, "runtime.sigpanic", CODE(NOP, NOP), 64);
	assert_int_equal(rule_at(f, 0).cfa_offset, 80);
	assert_int_equal(rule_at(f, 0).ra_offset, -10);
	assert_int_equal(rule_at(f, 0).cfa_deref, 8);
	assert_int_equal(rule_at(f, 0).flags, UNWIND_SIGNAL_FRAME);
	/* Before it has made its frame, the link register is what was interrupted. */
	mend(f, "runtime.asyncPreempt", CODE(NOP, NOP), 0);
	assert_int_equal(rule_at(f, 0).cfa_offset, 16);
	assert_int_equal(UNWIND_RA_KIND(rule_at(f, 0).kinds), UNWIND_SAME);
	assert_int_equal(rule_at(f, 0).cfa_deref, -2);
	assert_int_equal(rule_at(f, 0).flags, UNWIND_SIGNAL_FRAME);
	mend(f, "runtime.goexit", CODE(NOP, NOP), 0);
	assert_int_equal(rule_at(f, 1).cfa_kind, UNWIND_CFA_END);
}
