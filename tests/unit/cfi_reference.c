/* SPDX-License-Identifier: MIT */
#include "tests/unit/cfi_reference.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/unwind_table.h"
#include "tests/unwind_table_find.h"

#define REG_COUNT 34
#define STACK_DEPTH 64

const char *const cfi_verdict_names[CFI_VERDICT_COUNT] = {
	[CFI_EQUAL] = "equal",
	[CFI_DIFFERENT] = "different",
	[CFI_UNSUPPORTED] = "unsupported",
	[CFI_REG_UNSUPPORTED] = "register_unsupported",
	[CFI_STUB] = "stub",
	[CFI_REFERENCE_FAILED] = "reference_failed",
};

/* Result of a rule for one frame. */
struct outcome {
	bool has_rule, is_end, is_signal_frame;
	bool has_fp, has_base;
	uint64_t cfa, sp, pc, fp, base;
};

struct comparer {
	const struct unwind_arch *arch;
	struct unwind_rules rules;
	struct unwind_table table;
	Dwarf_CFI *cfi;
	struct cfi_comparison *comparison;
};

static uint64_t register_value(uint64_t reg)
{
	return hash_u64(reg + 1) & ~15ull;
}

static uint64_t memory_at(uint64_t addr)
{
	return hash_u64(addr ^ 0x5bd1e995);
}

/* A register of the machine at that pc, by DWARF number. */
static uint64_t dwarf_value(const struct unwind_arch *arch, uint64_t reg, uint64_t pc)
{
	return reg == arch->ra_column && !arch->ra_is_register ? pc : register_value(reg);
}

static uint64_t own_value(const struct unwind_arch *arch, uint8_t reg)
{
	switch (reg) {
	case UNWIND_REG_SP:
		return register_value(arch->sp);
	case UNWIND_REG_FP:
		return register_value(arch->fp);
	case UNWIND_REG_BASE:
		return register_value(arch->base);
	case UNWIND_REG_RA:
		return register_value(arch->ra_column);
	default:
		return register_value((uint64_t)reg - UNWIND_REG_OTHER);
	}
}

static uint64_t own_saved(const struct unwind_arch *arch, const struct unwind_rule *rule,
			  const struct outcome *o, unsigned int kind, int offset, uint8_t same)
{
	if (kind == UNWIND_SAME)
		return own_value(arch, same);
	return memory_at((kind == UNWIND_AT_CFA
				  ? o->cfa
				  : own_value(arch, UNWIND_AT_REG_BASE(rule->kinds))) +
			 (uint64_t)((int64_t)offset * 8));
}

static struct outcome own_outcome(const struct comparer *c, uint64_t pc)
{
	uint16_t id = unwind_table_find(&c->table, pc);
	const struct unwind_rule *rule = &c->rules.rows.items[id];
	struct outcome o = {.has_rule = rule->cfa_kind != UNWIND_CFA_NONE,
			    .is_end = rule->cfa_kind == UNWIND_CFA_END,
			    .is_signal_frame = rule->flags & UNWIND_SIGNAL_FRAME};
	uint64_t reg = own_value(c->arch, rule->cfa_reg);

	if (rule->cfa_kind == UNWIND_CFA_INDEXED)
		reg += own_value(c->arch, UNWIND_INDEX_REG(rule->flags)) * 8;

	if (!o.has_rule || o.is_end)
		return o;
	o.cfa = reg + (uint64_t)(int64_t)rule->cfa_offset;
	if (rule->cfa_kind == UNWIND_CFA_DEREF || rule->cfa_kind == UNWIND_CFA_INDEXED)
		o.cfa = memory_at(reg + (uint64_t)((int64_t)rule->cfa_deref * 8)) +
			(uint64_t)(int64_t)rule->cfa_offset;
	else if (rule->cfa_kind == UNWIND_CFA_DEREF_TWICE)
		o.cfa = memory_at(memory_at(reg + (uint64_t)((int64_t)rule->cfa_deref * 8)) +
				  8u * UNWIND_INDEX_REG(rule->flags)) +
			(uint64_t)(int64_t)rule->cfa_offset;
	else if (rule->cfa_kind == UNWIND_CFA_PLT)
		o.cfa = reg + 8 + (uint64_t)((pc & 15) >= (uint64_t)rule->cfa_offset) * 8;
	o.sp = o.cfa;
	o.has_fp = UNWIND_FP_KIND(rule->kinds) != UNWIND_UNKNOWN;
	o.has_base = UNWIND_BASE_KIND(rule->kinds) != UNWIND_UNKNOWN;
	o.pc = own_saved(c->arch, rule, &o, UNWIND_RA_KIND(rule->kinds), rule->ra_offset,
			 (uint8_t)rule->ra_offset);
	o.fp = own_saved(c->arch, rule, &o, UNWIND_FP_KIND(rule->kinds), rule->fp_offset,
			 UNWIND_REG_FP);
	o.base = own_saved(c->arch, rule, &o, UNWIND_BASE_KIND(rule->kinds), rule->base_offset,
			   UNWIND_REG_BASE);
	return o;
}

struct evaluation {
	const struct unwind_arch *arch;
	uint64_t cfa, pc, stack[STACK_DEPTH];
	unsigned int depth;
	bool failed, is_value; /* the result is the value, not its address */
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth == STACK_DEPTH)
		e->failed = true;
	else
		e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (!e->depth) {
		e->failed = true;
		return 0;
	}
	return e->stack[--e->depth];
}

static void binary_op(struct evaluation *e, uint8_t atom)
{
	uint64_t right = pop(e), left = pop(e);

	switch (atom) {
	case DW_OP_plus:
		push(e, left + right);
		break;
	case DW_OP_minus:
		push(e, left - right);
		break;
	case DW_OP_and:
		push(e, left & right);
		break;
	case DW_OP_or:
		push(e, left | right);
		break;
	case DW_OP_mul:
		push(e, left * right);
		break;
	case DW_OP_shl:
		push(e, right < 64 ? left << right : 0);
		break;
	case DW_OP_ge:
		push(e, (int64_t)left >= (int64_t)right);
		break;
	default:
		e->failed = true;
	}
}

static void evaluate_op(struct evaluation *e, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(e, op->atom - DW_OP_lit0);
		return;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push(e, dwarf_value(e->arch, op->atom - DW_OP_breg0, e->pc) + op->number);
		return;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		push(e, dwarf_value(e->arch, op->atom - DW_OP_reg0, e->pc));
		e->is_value = true;
		return;
	}
	switch (op->atom) {
	case DW_OP_nop:
		break;
	case DW_OP_call_frame_cfa:
		push(e, e->cfa);
		break;
	case DW_OP_bregx:
		push(e, dwarf_value(e->arch, op->number, e->pc) + op->number2);
		break;
	case DW_OP_regx:
		push(e, dwarf_value(e->arch, op->number, e->pc));
		e->is_value = true;
		break;
	case DW_OP_deref:
		push(e, memory_at(pop(e)));
		break;
	case DW_OP_plus_uconst:
		push(e, pop(e) + op->number);
		break;
	case DW_OP_stack_value:
		e->is_value = true;
		break;
	case DW_OP_const1u ... DW_OP_consts:
		push(e, op->number);
		break;
	default:
		binary_op(e, op->atom);
	}
}

/* Evaluates operations to the value of a register or the CFA. */
static bool evaluate(const struct unwind_arch *arch, const Dwarf_Op *ops, size_t count, uint64_t pc,
		     const uint64_t *cfa, uint64_t *value)
{
	struct evaluation e = {.arch = arch, .pc = pc, .cfa = cfa ? *cfa : 0, .is_value = !cfa};
	uint64_t result;

	for (size_t i = 0; i < count; i++)
		evaluate_op(&e, &ops[i]);
	result = pop(&e);
	*value = e.is_value ? result : memory_at(result);
	return !e.failed;
}

enum reference_register { REFERENCE_FAILED, REFERENCE_UNDEFINED, REFERENCE_KNOWN };

static enum reference_register reference_value(const struct comparer *c, Dwarf_Frame *frame,
					       int reg, uint64_t pc, uint64_t cfa, uint64_t *value)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, reg, memory, &ops, &count) != 0)
		return REFERENCE_FAILED;
	/* libdw assumes that calls clobber rbx; by the ABI they preserve it. */
	if (count == 0 && ops == memory &&
	    !(reg == c->arch->base && c->arch == &unwind_arch_x86_64))
		return REFERENCE_UNDEFINED;
	if (count == 0) {
		*value = dwarf_value(c->arch, (uint64_t)reg, pc);
		return REFERENCE_KNOWN;
	}
	return evaluate(c->arch, ops, count, pc, &cfa, value) ? REFERENCE_KNOWN : REFERENCE_FAILED;
}

/* Returns false if libdw has no FDE. */
static bool reference_outcome(const struct comparer *c, uint64_t pc, struct outcome *o)
{
	enum reference_register ra;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;

	*o = (struct outcome){0};
	if (!c->cfi || dwarf_cfi_addrframe(c->cfi, pc, &frame) != 0)
		/* 4.2 of libdw's errors: no FDE; other errors are failures to read one. */
		return false;
	dwarf_frame_info(frame, NULL, NULL, &o->is_signal_frame);
	if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0 &&
	    evaluate(c->arch, ops, count, pc, NULL, &o->cfa)) {
		ra = reference_value(c, frame, c->arch->ra_column, pc, o->cfa, &o->pc);
		o->is_end = ra == REFERENCE_UNDEFINED;
		o->has_rule = ra != REFERENCE_FAILED;
		reference_value(c, frame, c->arch->sp, pc, o->cfa, &o->sp);
		o->has_fp = reference_value(c, frame, c->arch->fp, pc, o->cfa, &o->fp) ==
			    REFERENCE_KNOWN;
		o->has_base = reference_value(c, frame, c->arch->base, pc, o->cfa, &o->base) ==
			      REFERENCE_KNOWN;
	}
	free(frame);
	return true;
}

/* Returns the name of a difference, or NULL. */
static const char *difference(const struct outcome *own, const struct outcome *reference)
{
	if (own->is_end != reference->is_end)
		return own->is_end ? "end of stack" : "no end of stack";
	if (own->is_end)
		return NULL;
	if (own->is_signal_frame != reference->is_signal_frame)
		return "signal frame";
	if (own->cfa != reference->cfa)
		return "CFA";
	if (own->sp != reference->sp)
		return "stack pointer";
	if (own->pc != reference->pc)
		return "return address";
	if (own->has_fp && (!reference->has_fp || own->fp != reference->fp))
		return "frame pointer";
	if (own->has_base && (!reference->has_base || own->base != reference->base))
		return "base register";
	return NULL;
}

static enum cfi_verdict judge(const struct comparer *c, uint64_t pc, const char **what)
{
	struct outcome own = own_outcome(c, pc), reference;
	bool is_known = reference_outcome(c, pc, &reference);

	*what = "";
	if (!is_known && !own.has_rule)
		return CFI_EQUAL;
	if (!is_known)
		return CFI_STUB;
	/* Signal frames have the kernel's layout, whatever the CFI says. */
	if (own.is_signal_frame && c->arch->signal_rule)
		return CFI_STUB;
	if (!own.has_rule && !reference.has_rule)
		return CFI_REFERENCE_FAILED;
	if (!own.has_rule)
		return CFI_UNSUPPORTED;
	*what = "a rule where libdw has none";
	if (!reference.has_rule)
		return CFI_DIFFERENT;
	*what = difference(&own, &reference);
	if (*what)
		return CFI_DIFFERENT;
	if (own.is_end)
		return CFI_EQUAL;
	*what = !own.has_fp && reference.has_fp	      ? "frame pointer"
		: !own.has_base && reference.has_base ? "base register"
						      : NULL;
	return *what ? CFI_REG_UNSUPPORTED : CFI_EQUAL;
}

static void compare_at(struct comparer *c, uint64_t pc)
{
	struct cfi_difference d = {.pc = pc};

	d.verdict = judge(c, pc, &d.what);
	c->comparison->counts[d.verdict]++;
	if (d.verdict != CFI_EQUAL && c->comparison->report)
		c->comparison->report(c->comparison->context, &d);
}

static void compare_rows(struct comparer *c)
{
	const struct unwind_table *t = &c->table;

	for (uint32_t page = 0; page < t->page_count; page++) {
		uint64_t base = t->start + (uint64_t)page * UNWIND_PAGE_SIZE;

		compare_at(c, base);
		for (uint32_t row = t->index.items[page]; row < t->index.items[page + 1]; row++) {
			uint64_t start = base + t->rows.items[row].pc_low;

			if (start != base)
				compare_at(c, start - 1);
			compare_at(c, start);
		}
		compare_at(c, base + UNWIND_PAGE_SIZE - 1);
	}
}

int cfi_compare(int fd, struct cfi_comparison *comparison, struct error *err)
{
	struct comparer c = {.comparison = comparison};
	Dwarf *dwarf = NULL;
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	unwind_rules_init(&c.rules);
	ret = unwind_table_compile(fd, &c.rules, NULL, &c.table, err);
	if (ret == 0) {
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
		c.arch = unwind_arch_find(elf64_getehdr(elf)->e_machine);
		c.cfi = dwarf_getcfi_elf(elf);
		if (!c.cfi) {
			dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
			c.cfi = dwarf_getcfi(dwarf);
		}
		compare_rows(&c);
		if (dwarf)
			dwarf_end(dwarf);
		else
			dwarf_cfi_end(c.cfi);
		elf_end(elf);
	}
	unwind_table_release(&c.table);
	unwind_rules_release(&c.rules);
	return ret;
}
