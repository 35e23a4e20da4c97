/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/stub_rows.h"

#include "lib/code/unwind/arch.h"

void stubs_release(struct stubs *stubs)
{
	vec_release(&stubs->rows);
}

void stubs_add_row(struct stubs *stubs, uint64_t vaddr, struct unwind_rule rule)
{
	vec_push(&stubs->rows, (struct stub_row){.vaddr = vaddr, .rule = rule});
}

void stubs_add_end(struct stubs *stubs, const struct stub_code *code)
{
	stubs_add_row(stubs, code->vaddr + code->size,
		      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

struct unwind_rule stubs_rule_at_entry(const struct unwind_arch *arch, int offset)
{
	struct unwind_rule rule = arch->initial;

	rule.cfa_kind = UNWIND_CFA_REG;
	rule.cfa_reg = UNWIND_REG_SP;
	rule.cfa_offset = offset;
	return rule;
}

bool stub_has_bytes(const struct stub_code *code, size_t at, const char *bytes, size_t count)
{
	return at <= code->size && count <= code->size - at &&
	       memcmp(code->code + at, bytes, count) == 0;
}

void stubs_add(struct stubs *stubs, const struct unwind_arch *arch, const struct stub_code *code)
{
	/* Ignore code that wraps around or exceeds the span of a table. */
	if (code->size <= INT32_MAX && code->vaddr <= UINT64_MAX - code->size)
		arch->add_stub(stubs, code);
}

/* The end of a stub sorts before the start of another at the same address. */
static int compare(const void *a, const void *b)
{
	const struct stub_row *left = a, *right = b;

	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->rule.cfa_kind != UNWIND_CFA_NONE) - (right->rule.cfa_kind != UNWIND_CFA_NONE);
}

/* Rows of Go programs are numerous, and already in order. */
static bool is_sorted(const struct stubs *stubs)
{
	for (size_t i = 1; i < stubs->rows.count; i++) {
		if (compare(&stubs->rows.items[i - 1], &stubs->rows.items[i]) > 0)
			return false;
	}
	return true;
}

void stubs_sort(struct stubs *stubs)
{
	size_t count = 0;

	if (!stubs->rows.count)
		return;
	if (!is_sorted(stubs))
		vec_sort(&stubs->rows, compare);
	for (size_t i = 0; i < stubs->rows.count; i++) {
		/* The last row at an address wins. */
		if (count && stubs->rows.items[count - 1].vaddr == stubs->rows.items[i].vaddr)
			count--;
		stubs->rows.items[count++] = stubs->rows.items[i];
	}
	stubs->rows.count = count;
}
