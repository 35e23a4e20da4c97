/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walker: user stacks by the CFI tables in the shards, by frame pointers where there is no CFI,
 * by a scan for return addresses where neither leads on. One bounded loop calls one global function
 * a stage, which the verifier looks at once each.
 */
#ifndef PROF_BPF_UNWIND_BPF_H
#define PROF_BPF_UNWIND_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/tables.bpf.h"

/* A root's caller is not looked for: so much code behind an ELF file's entry belongs to it. */
#define ENTRY_CODE_SIZE 64
/* No frame is believed to be larger, where a frame pointer is all there is. */
#define FRAME_SIZE_MAX (8u << 20)
#define SCAN_WORDS 256

static __always_inline const __u32 *shard_words(__u32 shard)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&unwind_shards, &shard);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

/* The mapping that holds addr becomes s->mapping. False: none does. */
__noinline int unwind_find_mapping(struct stack_scratch *s, __u64 addr)
{
	const __u32 *words;
	__u32 first = 0, count;

	if (!s)
		return 0;
	if (addr >= s->mapping.start && addr < s->mapping.end)
		return 1;
	words = shard_words(s->space.shard);
	count = s->space.count;
	if (!words || !count)
		return 0;
	for (int i = 0; i < 20 && count > 1; i++) {
		__u32 half = count / 2;
		__u32 at = (s->space.at + (first + half) * (sizeof(s->mapping) / 4)) &
			   (UNWIND_SHARD_WORDS - 1) & ~15u;

		if (*(const __u64 *)(words + at) <= addr)
			first += half;
		count -= half;
	}
	first = (s->space.at + first * (sizeof(s->mapping) / 4)) & (UNWIND_SHARD_WORDS - 1) & ~15u;
	s->mapping = *(const struct unwind_mapping *)(words + first);
	return addr >= s->mapping.start && addr < s->mapping.end;
}

/* The number of the rule for a vaddr of s->mapping. */
static __always_inline __u32 find_rule_number(const struct stack_scratch *s, const __u32 *words,
					      __u64 vaddr)
{
	const struct unwind_mapping *m = &s->mapping;
	__u64 page = (vaddr - m->table_start) >> UNWIND_PAGE_SHIFT;
	__u32 low = vaddr & (UNWIND_PAGE_SIZE - 1), at, first, count;
	const struct unwind_row *row;

	if (vaddr < m->table_start || page >= m->page_count)
		return UNWIND_RULE_NONE;
	at = m->index_at + (__u32)page;
	if (at >= UNWIND_SHARD_WORDS - 1)
		return UNWIND_RULE_NONE;
	first = words[at];
	count = words[at + 1] - first;
	/* The row before the page's first one is the answer where all of them begin later. */
	if (first) {
		first--;
		count++;
	} else if (!count) {
		return UNWIND_RULE_NONE;
	}
	for (int i = 0; i < UNWIND_PAGE_SHIFT + 2 && count > 1; i++) {
		__u32 half = count / 2;

		at = (m->rows_at + first + half) & (UNWIND_SHARD_WORDS - 1);
		row = (const struct unwind_row *)(words + at);
		if (row->pc_low <= low)
			first += half;
		count -= half;
	}
	at = (m->rows_at + first) & (UNWIND_SHARD_WORDS - 1);
	row = (const struct unwind_row *)(words + at);
	return row->rule;
}

/* Finds mapping and rule of the frame's pc. False: the pc lies in nothing that is known. */
__noinline int unwind_find_rule(struct stack_scratch *s)
{
	const struct unwind_rule *rule;
	const __u32 *words;
	__u32 number = UNWIND_RULE_NONE;
	__u64 addr, vaddr;

	if (!s)
		return 0;
	addr = s->frame.pc - (s->frame.is_pc ? 0 : 1);
	if (!unwind_find_mapping(s, addr))
		return 0;
	vaddr = addr - s->mapping.bias;
	if (s->mapping.entry && vaddr - s->mapping.entry < ENTRY_CODE_SIZE) {
		number = UNWIND_RULE_END;
	} else if (s->mapping.flags & UNWIND_HAS_TABLE) {
		words = shard_words(s->mapping.shard);
		if (words)
			number = find_rule_number(s, words, vaddr);
	}
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	if (!rule)
		return 0;
	s->rule = *rule;
	return 1;
}

__noinline int unwind_step(struct stack_scratch *s)
{
	return s ? walk_step(&s->frame, &s->rule) : WALK_BAD_READ;
}

/* A frame that keeps a frame pointer: [fp] is the caller's, [fp + 8] the return address. */
__noinline int unwind_by_frame_pointer(struct stack_scratch *s)
{
	struct walk_frame *f;
	__u64 pair[2];

	if (!s)
		return 0;
	f = &s->frame;
	if (f->fp < f->sp || f->fp - f->sp > FRAME_SIZE_MAX || f->fp & 7)
		return 0;
	if (bpf_probe_read_user(pair, sizeof(pair), (const void *)f->fp))
		return 0;
	if (!unwind_find_mapping(s, pair[1] - 1))
		return 0;
	f->pc = pair[1];
	f->sp = f->fp + 16;
	f->fp = pair[0];
	f->is_top = f->is_pc = 0;
	return 1;
}

/* Is there a call before addr, in any of the forms that compilers write? */
static __always_inline bool follows_call(__u64 addr)
{
	__u8 b[8]; /* b[8 - n] lies n bytes before addr */

	if (bpf_probe_read_user(b, sizeof(b), (const void *)(addr - sizeof(b))))
		return false;
#if defined(__TARGET_ARCH_arm64)
	__u32 insn = *(__u32 *)(b + 4);

	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
#else
	if (b[3] == 0xe8)
		return true;
	/* ff /2, with a register, a base, displacements of 1 and 4 bytes, and with an index */
	return (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[2] == 0xff && (b[3] & 0x38) == 0x10) || (b[4] == 0xff && (b[5] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10);
#endif
}

struct scanning {
	struct stack_scratch *s;
	__u32 found;
};

__noinline int unwind_try_word(struct stack_scratch *s, __u32 i)
{
	__u64 at, word;

	if (!s)
		return 0;
	at = s->frame.sp + i * 8ull;
	if (bpf_probe_read_user(&word, 8, (const void *)at))
		return -1;
	if (!unwind_find_mapping(s, word - 1) || !follows_call(word))
		return 0;
	s->frame.pc = word;
	s->frame.sp = at + 8;
	s->frame.is_top = s->frame.is_pc = 0;
	return 1;
}

static long scan_word(__u32 i, void *ctx)
{
	struct scanning *c = ctx;
	int result = unwind_try_word(c->s, i);

	if (!result)
		return 0;
	c->found = result > 0;
	return 1;
}

/* The nearest word on the stack that looks like a return address. A guess, and shown as one. */
static __always_inline bool unwind_by_scan(struct stack_scratch *s)
{
	struct scanning c = {.s = s};

	bpf_loop(SCAN_WORDS, scan_word, &c, 0);
	return c.found;
}

/* Appends the frame's pc to the stack record. False: there is no more room. */
__noinline int unwind_push(struct stack_scratch *s, __u8 kind)
{
	__u32 at;

	if (!s)
		return 0;
	at = s->kernel_depth + s->user_depth;
	if (s->user_depth >= USER_DEPTH_MAX || at >= DEPTH_MAX) {
		s->stack_flags |= STACK_TRUNCATED;
		return 0;
	}
	s->words[HEADER_WORDS + at] = s->frame.pc;
	s->kinds[at] = kind;
	s->user_depth++;
	return 1;
}

/* One frame outwards, by whatever leads there. 0: the stack has ended, s->stack_flags says how. */
static __always_inline int unwind_frame(struct stack_scratch *s)
{
	__u8 kind = FRAME_NATIVE;
	int result;

	if (!unwind_find_rule(s)) {
		s->stack_flags |= s->frame.is_top ? STACK_UNKNOWN : STACK_BROKEN;
		return 0;
	}
	result = unwind_step(s);
	if (result == WALK_END) {
		s->stack_flags |= STACK_WHOLE;
		return 0;
	}
	if (result == WALK_STEPPED) {
		if (s->frame.is_pc)
			kind = FRAME_SIGNAL;
		return unwind_push(s, kind);
	}
	if (s->mapping.flags & UNWIND_PENDING) {
		s->stack_flags |= STACK_UNKNOWN;
		return 0;
	}
	if (!(config.unwind & UNWIND_BY_FRAME_POINTER)) {
		s->stack_flags |= STACK_BROKEN;
		return 0;
	}
	if (unwind_by_frame_pointer(s))
		return unwind_push(s, kind);
	if (config.unwind & UNWIND_BY_SCAN && unwind_by_scan(s)) {
		s->stack_flags |= STACK_GUESSED;
		return unwind_push(s, FRAME_GUESS);
	}
	s->stack_flags |= STACK_BROKEN;
	return 0;
}

static long unwind_turn(__u32 i, void *ctx)
{
	struct scanning *c = ctx;
	int more = unwind_frame(c->s);

	/* The verifier wants to see that nothing but 0 and 1 comes back. */
	barrier_var(more);
	return more ? 0 : 1;
}

#endif
