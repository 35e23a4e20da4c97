/* SPDX-License-Identifier: MIT */
/*
 * Go on arm64 (src/runtime/asm_arm64.s in Go's source). A frame's innermost word is the return
 * address; the frame pointer is saved below it, outside of the frame. Register 28 is "g", the
 * goroutine.
 */
#include <endian.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/go_code.h"

#define WORD 8
#define NOT_FOUND SIZE_MAX
#define PUSHED_LINK 16 /* bytes, since sp stays aligned */
#define G 28
#define FP 29
#define SP 31

enum {
	INSN_RET = 0xd65f03c0,
	INSN_SVC = 0xd4000001,
	INSN_STP_X29_X30_X20 = 0xa93ffa9d, /* stp x29, x30, [x20, #-8] */
};

/* Returns the instruction at an offset; 0, not a valid one, if out of range. */
static uint32_t insn_at(const struct go_code *code, size_t at)
{
	uint32_t insn;

	if (at > code->size || code->size - at < sizeof(insn))
		return 0;
	memcpy(&insn, code->bytes + at, sizeof(insn));
	return le32toh(insn);
}

static uint32_t reg_d(uint32_t insn)
{
	return insn & 31;
}

static uint32_t reg_n(uint32_t insn)
{
	return insn >> 5 & 31;
}

/* ldr xd, [xn, #8 * words] */
static bool is_load(uint32_t insn)
{
	return insn >> 22 == 0xf9400000u >> 22;
}

/* str xd, [xn, #8 * words] */
static bool is_store(uint32_t insn)
{
	return insn >> 22 == 0xf9000000u >> 22;
}

static uint32_t words_of(uint32_t insn)
{
	return insn >> 10 & 0xfff;
}

/* mov sp, xn */
static bool is_sp_write(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0x9100001f && reg_n(insn) != SP;
}

/* Returns the offset after the next instruction that sets sp from another register. */
static size_t next_sp_write(const struct go_code *code, size_t from)
{
	for (size_t at = from; at + 4 <= code->size; at += 4) {
		if (is_sp_write(insn_at(code, at)))
			return at + 4;
	}
	return NOT_FOUND;
}

static size_t find_insn(const struct go_code *code, size_t from, uint32_t insn)
{
	for (size_t at = from; at + 4 <= code->size; at += 4) {
		if (insn_at(code, at) == insn)
			return at;
	}
	return NOT_FOUND;
}

static struct unwind_rule frame(uint64_t size, struct go_saves saves)
{
	struct unwind_rule rule = {
		.cfa_kind = UNWIND_CFA_REG,
		.cfa_reg = UNWIND_REG_SP,
		.kinds = UNWIND_SAME | UNWIND_UNKNOWN << 4,
		.ra_offset = UNWIND_REG_RA,
	};
	uint64_t at = saves.at ? saves.at : size / WORD;

	if (at >= INT16_MAX || size > INT32_MAX)
		return (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE};
	rule.cfa_offset = (int32_t)size;
	if (size && saves.is_saved) {
		rule.kinds = UNWIND_AT_CFA | UNWIND_AT_CFA << 2 | UNWIND_UNKNOWN << 4;
		rule.ra_offset = (int16_t)-at;
		rule.fp_offset = (int16_t)(-at - 1);
	}
	return rule;
}

/*
 * Finds the saved registers. Assembler functions with a frame save both like compiled ones, in two
 * ways. Those called from C set up their frames themselves.
 */
static struct go_saves saves(const struct go_code *code)
{
	uint32_t size = 0;

	for (size_t at = 0; at + 4 <= code->size; at += 4) {
		uint32_t insn = insn_at(code, at);

		/* str x30, [sp, #-size]! */
		if ((insn & 0xfff00fff) == 0xf8100ffe)
			return (struct go_saves){true, (512 - (insn >> 12 & 511)) / WORD};
		if (insn == INSN_STP_X29_X30_X20)
			return (struct go_saves){true, 0};
		/* sub sp, sp, #size */
		if ((insn & 0xffc003ff) == 0xd10003ff)
			size = words_of(insn) / WORD;
		/* stp x29, x30, [sp, #8 * words] */
		if ((insn & 0xffe07fff) == 0xa9007bfd && size > (insn >> 15 & 63) + 1)
			return (struct go_saves){true, (uint16_t)(size - (insn >> 15 & 63) - 1)};
	}
	return (struct go_saves){0};
}

/*
 * Reads, in the part of systemstack that returns to the goroutine, "ldr xn, [g, #m]", "ldr g, [xn,
 * #curg]", and later "ldr xn, [g, #sp]", "mov sp, xn".
 */
static void read_layout(struct go_layout *layout, const struct go_code *code, struct go_file *go)
{
	uint32_t m = 0, current = 0, sp;
	size_t at = 4;

	for (; at + 4 <= code->size; at += 4) {
		m = insn_at(code, at - 4);
		current = insn_at(code, at);
		if (is_load(m) && reg_n(m) == G && is_load(current) && reg_d(current) == G &&
		    reg_n(current) == reg_d(m))
			break;
	}
	at = next_sp_write(code, at);
	if (at == NOT_FOUND)
		return;
	sp = insn_at(code, at - 8);
	m = words_of(m);
	current = words_of(current);
	if (!is_load(sp) || reg_n(sp) != G || m > 15 || words_of(sp) > 31 || current > 127)
		return;
	layout->is_known = true;
	layout->g_reg = UNWIND_REG_OTHER + G;
	layout->packed = (uint16_t)GO_PACK(m, words_of(sp), current);
}

static const struct unwind_rule end_rule = {.cfa_kind = UNWIND_CFA_END};
static const struct unwind_rule no_rule = {.cfa_kind = UNWIND_CFA_NONE};

/* Returns the rule of a function that has left its stack; x29 points below its frame. */
static struct unwind_rule by_frame_pointer(struct unwind_rule own)
{
	if (UNWIND_FP_KIND(own.kinds) != UNWIND_AT_CFA)
		return no_rule;
	own.cfa_kind = UNWIND_CFA_OTHER_STACK;
	own.cfa_reg = UNWIND_REG_FP;
	own.cfa_offset = -own.fp_offset * WORD;
	return own;
}

static struct unwind_rule by_goroutine(struct unwind_rule own, const struct go_layout *layout)
{
	if (!layout->is_known)
		return no_rule;
	own.cfa_kind = UNWIND_CFA_GOROUTINE;
	own.cfa_reg = layout->g_reg;
	own.base_offset = (int16_t)layout->packed;
	return own;
}

/* Corrects code that returns to its stack; the frame pointer locates its frame meanwhile. */
static void mend_round_trip(const struct go_function *function)
{
	size_t leave = next_sp_write(&function->code, 0), back = leave;

	for (size_t at = leave; at != NOT_FOUND; at = next_sp_write(&function->code, at))
		back = at;
	if (back != leave)
		go_replace(function, leave, back, by_frame_pointer(go_rule_at(function, leave)));
}

/* Up to Go 1.24, it also loads the system stack's frame pointer: only the goroutine leads back. */
static void mend_systemstack(const struct go_function *function, const struct go_layout *layout)
{
	size_t leave = next_sp_write(&function->code, 0), back = NOT_FOUND;
	uint32_t next = insn_at(&function->code, leave);

	if (is_load(next) && reg_d(next) == FP)
		back = next_sp_write(&function->code, leave);
	if (back == NOT_FOUND)
		mend_round_trip(function);
	else
		go_replace(function, leave, back,
			   by_goroutine(go_rule_at(function, leave), layout));
}

/*
 * Sets rules for one path through asmcgocall. After the last change of sp before the call, it
 * stores the goroutine, or 0, and the depth of its stack. Returns the offset after the code that
 * returns to the stack, or NOT_FOUND.
 */
static size_t mend_asmcgocall_branch(const struct go_function *function, size_t leave,
				     struct unwind_rule own, struct unwind_rule before)
{
	const struct go_code *code = &function->code;
	size_t stored = leave, back;
	int slots[2] = {0}, count = 0;

	for (; stored + 4 <= code->size && count < 2; stored += 4) {
		uint32_t insn = insn_at(code, stored);

		if (is_store(insn) && reg_n(insn) == SP)
			slots[count++] = (int)words_of(insn);
	}
	back = next_sp_write(code, stored);
	if (count < 2 || back == NOT_FOUND)
		return NOT_FOUND;
	go_replace(function, leave, stored, before);
	go_replace(function, stored, back, go_depth_rule(own, slots));
	return back;
}

static void mend_asmcgocall(const struct go_function *function, const struct go_layout *layout)
{
	size_t leave = next_sp_write(&function->code, 0), back;
	struct unwind_rule own;

	if (leave == NOT_FOUND)
		return;
	own = go_rule_at(function, leave - 4);
	back = mend_asmcgocall_branch(function, leave, own, by_goroutine(own, layout));
	leave = back == NOT_FOUND ? NOT_FOUND : next_sp_write(&function->code, back);
	if (leave != NOT_FOUND)
		mend_asmcgocall_branch(function, leave, own, no_rule);
}

/* The kernel returns here twice; code of the new thread has no caller. */
static void mend_clone(const struct go_function *function, const struct go_layout *layout)
{
	size_t at = find_insn(&function->code, 0, INSN_SVC);

	if (at != NOT_FOUND)
		at = find_insn(&function->code, at, INSN_RET);
	if (at != NOT_FOUND)
		go_replace(function, at + 4, SIZE_MAX, end_rule);
}

/*
 * Functions whose call a signal handler injects into interrupted code: it pushes the link register,
 * and replaces it by the pc.
 */
static void mend_injected(const struct go_function *function, const struct go_layout *layout)
{
	for (size_t i = function->first; i < function->rows->rows.count; i++) {
		struct unwind_rule *rule = &function->rows->rows.items[i].rule;
		int32_t size = rule->cfa_offset;

		if (rule->cfa_kind != UNWIND_CFA_REG || size > INT16_MAX) {
			*rule = end_rule;
			continue;
		}
		*rule = frame((uint64_t)size + PUSHED_LINK, (struct go_saves){size > 0, 0});
		rule->flags = UNWIND_SIGNAL_FRAME;
		rule->cfa_deref = (int16_t)(size ? size / WORD : -PUSHED_LINK / WORD);
	}
}

/*
 * Returns the offset after the instruction that loads g, from which on the other stack is in use.
 */
static size_t find_g_load(const struct go_code *code)
{
	for (size_t at = 0; at + 4 <= code->size; at += 4) {
		uint32_t insn = insn_at(code, at);

		if (is_load(insn) && reg_d(insn) == G)
			return at + 4;
	}
	return NOT_FOUND;
}

/*
 * A function that needs a larger stack calls this one before setting up a frame, with its own
 * return address in x3: treat it as interrupted code with that link register. The goroutine keeps
 * it along with sp and pc.
 */
static void mend_morestack(const struct go_function *function, const struct go_layout *layout)
{
	size_t leave = find_g_load(&function->code);
	struct unwind_rule rule = frame(0, (struct go_saves){0});
	int saved_lr = 0;

	for (size_t at = 0; at + 4 <= function->code.size; at += 4) {
		uint32_t insn = insn_at(&function->code, at);

		if (is_store(insn) && reg_d(insn) == 3 && reg_n(insn) == G)
			saved_lr = (int)words_of(insn);
	}
	if (leave == NOT_FOUND || !saved_lr)
		return;
	rule.flags = UNWIND_SIGNAL_FRAME;
	rule.cfa_deref = 3;
	go_replace(function, 0, leave, rule);
	rule = by_goroutine(rule, layout);
	rule.cfa_deref = (int16_t)(saved_lr - GO_SP_AT(layout->packed) - 1);
	go_replace(function, leave, SIZE_MAX, rule);
}

static void mend_mcall(const struct go_function *function, const struct go_layout *layout)
{
	size_t leave = find_g_load(&function->code);

	if (leave != NOT_FOUND)
		go_replace(function, leave, SIZE_MAX, end_rule);
}

static void mend_end(const struct go_function *function, const struct go_layout *layout)
{
	go_replace(function, 0, SIZE_MAX, end_rule);
}

/* The last "str x0, [xn, #labels]", after the write barrier. */
static uint16_t label_place(const struct go_code *code)
{
	uint32_t words = 0;

	for (size_t at = 0; at + 4 <= code->size; at += 4) {
		uint32_t insn = insn_at(code, at);

		if (is_store(insn) && reg_d(insn) == 0 && reg_n(insn) != SP && words_of(insn))
			words = words_of(insn);
	}
	return (uint16_t)(words * WORD);
}

static const struct go_special specials[] = {
	{"runtime.goexit", mend_end},
	{"runtime.rt0_go", mend_end},
	{"runtime.mstart", mend_end},
	{"runtime.execute", mend_end},
	{"runtime.mcall", mend_mcall},
	/* Switches to another goroutine, by a call that leaves no return address. */
	{"runtime.gogo", mend_end},
	{"gogo", mend_end},
	{"runtime.systemstack", mend_systemstack},
	{"runtime.morestack", mend_morestack},
	{"runtime.morestack_noctxt", NULL},
	{"runtime.asmcgocall", mend_asmcgocall},
	{"runtime.clone", mend_clone},
	{"runtime.asyncPreempt", mend_injected},
	{"runtime.sigpanic", mend_injected},
	{0},
};

const struct go_arch go_arch_aarch64 = {
	.frame = frame,
	.saves = saves,
	.read_layout = read_layout,
	.label_place = label_place,
	.specials = specials,
	.mend_sp_writer = mend_round_trip,
};
