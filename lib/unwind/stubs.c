/* SPDX-License-Identifier: MIT */
#include "lib/unwind/stubs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct unwind_rule no_rule = {.cfa_kind = UNWIND_CFA_NONE};

void stubs_release(struct stubs *stubs)
{
	vec_release(&stubs->rows);
}

static void add_row(struct stubs *stubs, uint64_t vaddr, struct unwind_rule rule)
{
	vec_push(&stubs->rows, (struct stub_row){.vaddr = vaddr, .rule = rule});
}

/* CFA = sp + offset, everything else as it was when the function was called. */
static struct unwind_rule at_entry(const struct unwind_arch *arch, int offset)
{
	struct unwind_rule rule = arch->initial;

	rule.cfa_kind = UNWIND_CFA_REG;
	rule.cfa_reg = UNWIND_REG_SP;
	rule.cfa_offset = offset;
	return rule;
}

static bool has_bytes(const uint8_t *code, size_t size, size_t at, const char *bytes, size_t count)
{
	return at <= size && count <= size - at && memcmp(code + at, bytes, count) == 0;
}

#define HAS(at, bytes) has_bytes(code, size, (at), (bytes), sizeof(bytes) - 1)

/* From which byte of an entry of 16 the index of the relocation is on the stack; 0: unknown. */
static int push_end(const uint8_t *code, size_t size, size_t at)
{
	if (HAS(at, "\xff\x25") && HAS(at + 6, "\x68"))
		return 11; /* jmp *slot; push $index */
	if (HAS(at, "\xf3\x0f\x1e\xfa\x68"))
		return 9; /* endbr64; push $index */
	return HAS(at, "\x68") ? 5 : 0;
}

static void add_plt_x86_64(struct stubs *stubs, const struct unwind_arch *arch, const uint8_t *code,
			   size_t size, uint64_t vaddr)
{
	struct unwind_rule rule = at_entry(arch, 0);
	int threshold = push_end(code, size, 16);

	/* The first entry: push the module, jump to the resolver. */
	if (vaddr % 16 || !HAS(0, "\xff\x35") || !threshold)
		return;
	add_row(stubs, vaddr, at_entry(arch, 16));
	add_row(stubs, vaddr + 6, at_entry(arch, 24));
	rule.cfa_kind = UNWIND_CFA_PLT;
	rule.cfa_offset = threshold;
	add_row(stubs, vaddr + 16, rule);
	add_row(stubs, vaddr + size, no_rule);
}

static void add_init_x86_64(struct stubs *stubs, const struct unwind_arch *arch,
			    const uint8_t *code, size_t size, uint64_t vaddr)
{
	size_t at = HAS(0, "\xf3\x0f\x1e\xfa") ? 4 : 0;

	/* sub $8,%rsp … add $8,%rsp; ret */
	if (size < at + 9 || !HAS(at, "\x48\x83\xec\x08") || !HAS(size - 5, "\x48\x83\xc4\x08\xc3"))
		return;
	add_row(stubs, vaddr, at_entry(arch, 8));
	add_row(stubs, vaddr + at + 4, at_entry(arch, 16));
	add_row(stubs, vaddr + size - 1, at_entry(arch, 8));
	add_row(stubs, vaddr + size, no_rule);
}

static void add_x86_64(struct stubs *stubs, const struct unwind_arch *arch, enum stub_kind kind,
		       const uint8_t *code, size_t size, uint64_t vaddr)
{
	if (kind == STUB_PLT) {
		add_plt_x86_64(stubs, arch, code, size, vaddr);
	} else if (kind == STUB_INIT_FINI) {
		add_init_x86_64(stubs, arch, code, size, vaddr);
	} else if (kind == STUB_PLT_JUMPS && (HAS(0, "\xff\x25") || HAS(0, "\xf3\x0f\x1e\xfa"))) {
		add_row(stubs, vaddr, at_entry(arch, 8));
		add_row(stubs, vaddr + size, no_rule);
	}
}

/* A pair of registers stored below sp: x30, and x29 where that is the other one. */
static struct unwind_rule pair_saved(const struct unwind_arch *arch, bool has_fp, bool is_signed)
{
	struct unwind_rule rule = at_entry(arch, 16);

	rule.kinds = UNWIND_AT_CFA;
	rule.ra_offset = -1;
	if (has_fp) {
		rule.kinds |= UNWIND_AT_CFA << 2;
		rule.fp_offset = -2;
	}
	if (is_signed)
		rule.flags |= UNWIND_RA_SIGNED;
	return rule;
}

static void add_plt_aarch64(struct stubs *stubs, const struct unwind_arch *arch,
			    const uint8_t *code, size_t size, uint64_t vaddr)
{
	size_t at = HAS(0, "\x5f\x24\x03\xd5") ? 4 : 0; /* bti c */

	/* The first entry, of 32 bytes: stp x16, x30, [sp, #-16]!, jump to the resolver. */
	if (size < 32 || !HAS(at, "\xf0\x7b\xbf\xa9"))
		return;
	add_row(stubs, vaddr, at_entry(arch, 0));
	add_row(stubs, vaddr + at + 4, pair_saved(arch, false, false));
	add_row(stubs, vaddr + 32, at_entry(arch, 0));
	add_row(stubs, vaddr + size, no_rule);
}

static void add_init_aarch64(struct stubs *stubs, const struct unwind_arch *arch,
			     const uint8_t *code, size_t size, uint64_t vaddr)
{
	bool is_signed = HAS(0, "\x3f\x23\x03\xd5"); /* paciasp */
	size_t at = is_signed || HAS(0, "\x1f\x20\x03\xd5") || HAS(0, "\x5f\x24\x03\xd5") ? 4 : 0;
	size_t last = is_signed ? 12 : 8;
	struct unwind_rule rule = at_entry(arch, 0);

	/* stp x29, x30, [sp, #-16]! … ldp x29, x30, [sp], #16; (autiasp;) ret */
	if (size % 4 || size < at + 4 + last || !HAS(at, "\xfd\x7b\xbf\xa9") ||
	    !HAS(size - last, "\xfd\x7b\xc1\xa8") || !HAS(size - 4, "\xc0\x03\x5f\xd6"))
		return;
	add_row(stubs, vaddr, rule);
	if (is_signed) {
		rule.flags |= UNWIND_RA_SIGNED;
		add_row(stubs, vaddr + 4, rule);
	}
	add_row(stubs, vaddr + at + 4, pair_saved(arch, true, is_signed));
	add_row(stubs, vaddr + size - last + 4, rule);
	if (is_signed)
		add_row(stubs, vaddr + size - 4, at_entry(arch, 0));
	add_row(stubs, vaddr + size, no_rule);
}

/*
 * The instruction in front belongs to it: to who takes the trampoline's address for that of a call
 * and looks one byte before, a signal frame must be one, too. The kernel has a nop there for that.
 */
static void add_signal(struct stubs *stubs, const struct unwind_arch *arch, const uint8_t *code,
		       size_t size, uint64_t vaddr)
{
	for (size_t at = 4; at + arch->signal_code_size <= size; at += 4) {
		if (memcmp(code + at, arch->signal_code, arch->signal_code_size) != 0)
			continue;
		add_row(stubs, vaddr + at - 4, arch->signal_rule);
		add_row(stubs, vaddr + at + arch->signal_code_size, no_rule);
	}
}

static void add_aarch64(struct stubs *stubs, const struct unwind_arch *arch, enum stub_kind kind,
			const uint8_t *code, size_t size, uint64_t vaddr)
{
	if (kind == STUB_PLT)
		add_plt_aarch64(stubs, arch, code, size, vaddr);
	else if (kind == STUB_INIT_FINI)
		add_init_aarch64(stubs, arch, code, size, vaddr);
}

void stubs_add(struct stubs *stubs, const struct unwind_arch *arch, enum stub_kind kind,
	       const uint8_t *code, size_t size, uint64_t vaddr)
{
	/* No stub wraps around, or is as large as the span of a table. */
	if (size > INT32_MAX || vaddr > UINT64_MAX - size)
		return;
	if (kind == STUB_SIGNAL && arch->signal_code)
		add_signal(stubs, arch, code, size, vaddr);
	else if (arch == &unwind_arch_x86_64)
		add_x86_64(stubs, arch, kind, code, size, vaddr);
	else
		add_aarch64(stubs, arch, kind, code, size, vaddr);
}

/* The end of a stub comes before the begin of another one there. */
static int compare(const void *a, const void *b)
{
	const struct stub_row *left = a, *right = b;

	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->rule.cfa_kind != UNWIND_CFA_NONE) - (right->rule.cfa_kind != UNWIND_CFA_NONE);
}

void stubs_sort(struct stubs *stubs)
{
	size_t count = 0;

	if (!stubs->rows.count)
		return;
	qsort(stubs->rows.items, stubs->rows.count, sizeof(*stubs->rows.items), compare);
	for (size_t i = 0; i < stubs->rows.count; i++) {
		/* Of rows at one place, the last holds. */
		if (count && stubs->rows.items[count - 1].vaddr == stubs->rows.items[i].vaddr)
			count--;
		stubs->rows.items[count++] = stubs->rows.items[i];
	}
	stubs->rows.count = count;
}
