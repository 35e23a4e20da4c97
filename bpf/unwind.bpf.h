/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walker. Unwinds user stacks by the CFI tables in the shards, by frame pointers where there is
 * no CFI, and by a scan for return addresses where both fail. One bounded loop calls a global
 * function per stage, so the verifier checks each stage once.
 */
#ifndef PROF_BPF_UNWIND_BPF_H
#define PROF_BPF_UNWIND_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_scratch.bpf.h"
#include "bpf/tables.bpf.h"

static __always_inline const __u32 *shard_words(__u32 shard)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&unwind_shards, &shard);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

/* All mappings of a process lie in one shard, so this many halvings search them. */
#define SPACE_MAPPINGS_SHIFT 16
_Static_assert(UNWIND_SHARD_BYTES >> SPACE_MAPPINGS_SHIFT <= sizeof(struct unwind_mapping),
	       "all mappings can be found");

/* A binary search. Its variables are in s->rows: the verifier does not follow values there. */
struct search {
	struct stack_scratch *s;
	const __u32 *words; /* of the shard */
	__u64 addr;
};

static __always_inline const struct unwind_mapping *mapping_at(const struct search *search, __u32 i)
{
	__u32 at = (search->s->space.at + i * (sizeof(struct unwind_mapping) / 4)) &
		   (UNWIND_SHARD_WORDS - 1) & ~15u;

	return (const struct unwind_mapping *)(search->words + at);
}

/* bpf_loop, because the verifier follows every turn of a plain loop. */
static long halve_mappings(__u32 i, void *ctx)
{
	struct search *search = ctx;
	struct walk_rows *rows = &search->s->rows;
	__u32 half = rows->count / 2;

	if (mapping_at(search, rows->first + half)->start <= search->addr)
		rows->first += half;
	rows->count -= half;
	return rows->count <= 1;
}

/* Sets s->mapping to the mapping that holds addr. False: none does, and s->mapping is unchanged. */
__noinline int unwind_find_mapping(struct stack_scratch *s, __u64 addr)
{
	struct search search = {.s = s, .addr = addr};
	const struct unwind_mapping *m;

	if (!s)
		return 0;
	if (addr >= s->mapping.start && addr < s->mapping.end)
		return 1;
	search.words = shard_words(s->space.shard);
	if (!search.words || !s->space.count)
		return 0;
	s->rows.first = 0;
	s->rows.count = s->space.count;
	if (s->rows.count > 1)
		bpf_loop(SPACE_MAPPINGS_SHIFT, halve_mappings, &search, 0);
	m = mapping_at(&search, s->rows.first);
	if (addr < m->start || addr >= m->end)
		return 0;
	s->mapping = *m;
	return 1;
}

static __always_inline __u32 cache_slot(__u64 addr)
{
	return ((__u32)addr * 0x9e3779b1u) >> (32 - RULE_CACHE_BITS);
}

static long halve_rows(__u32 i, void *ctx)
{
	struct search *search = ctx;
	struct stack_scratch *s = search->s;

	walk_halve_rows(&s->mapping, search->words, UNWIND_SHARD_WORDS, &s->rows);
	return s->rows.count <= 1;
}

/* Returns the number of the rule for a vaddr of s->mapping. */
static __always_inline __u32 search_table(struct stack_scratch *s, __u64 vaddr)
{
	struct search search = {.s = s, .words = shard_words(s->mapping.shard)};

	if (!search.words ||
	    !walk_find_page(&s->mapping, search.words, UNWIND_SHARD_WORDS, vaddr, &s->rows))
		return UNWIND_RULE_NONE;
	if (s->rows.count > 1)
		bpf_loop(WALK_HALVINGS, halve_rows, &search, 0);
	return walk_rule_of(&s->mapping, search.words, UNWIND_SHARD_WORDS, &s->rows);
}

/*
 * Returns the number of the rule for an address and sets s->mapping; UNWIND_RULES_MAX: not mapped.
 */
__noinline int unwind_search_rule(struct stack_scratch *s, __u64 addr)
{
	__u32 number = UNWIND_RULE_NONE;
	__u64 vaddr;

	if (!s || !unwind_find_mapping(s, addr))
		return UNWIND_RULES_MAX;
	vaddr = addr - s->mapping.bias;
	if (s->mapping.flags & UNWIND_HAS_TABLE)
		number = search_table(s, vaddr);
	return walk_is_entry(&s->mapping, number, vaddr) ? UNWIND_RULE_END : number;
}

/*
 * Sets s->rule to the rule of the frame's pc minus `back` bytes. If that rule is UNWIND_CFA_NONE,
 * s->mapping is the mapping of the address. False: nothing is known of the address.
 */
__noinline int unwind_find_rule(struct stack_scratch *s, __u32 back)
{
	const struct unwind_rule *rule;
	struct rule_cache *cached;
	__u32 number;
	__u64 addr;

	if (!s)
		return 0;
	addr = s->frame.pc - back;
	cached = &s->rule_cache[cache_slot(addr)];
	if (cached->addr == addr && cached->serial == s->space.serial) {
		number = cached->number;
	} else {
		number = unwind_search_rule(s, addr);
		if (number - UNWIND_RULE_FIRST < UNWIND_RULES_MAX - UNWIND_RULE_FIRST) {
			cached->addr = addr;
			cached->serial = s->space.serial;
			cached->number = number;
		}
	}
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	if (!rule)
		return 0;
	s->rule = *rule;
	return 1;
}

__noinline int unwind_load_needed(struct stack_scratch *s)
{
	if (s)
		walk_load_needed(&s->frame, &s->rule);
	return 0;
}

__noinline int unwind_leave(struct stack_scratch *s)
{
	if (s)
		walk_to_caller(&s->frame, &s->rule, &s->caller);
	return 0;
}

/* On arm64 the step is longer: two functions are cheaper to verify, but slower. */
__noinline int unwind_step(struct stack_scratch *s)
{
	int result;

	if (!s)
		return WALK_BAD_READ;
	result = walk_find_caller(&s->frame, &s->rule, &s->caller);
	if (result != WALK_STEPPED)
		return result;
	if (IS_ARM64)
		unwind_leave(s);
	else
		walk_to_caller(&s->frame, &s->rule, &s->caller);
	return WALK_STEPPED;
}

/* Steps to a frame on another stack. */
__noinline int unwind_to_other_stack(struct stack_scratch *s)
{
	int result;

	if (!s)
		return WALK_BAD_READ;
	result = walk_find_other_stack(&s->frame, &s->rule, &s->caller);
	if (result == WALK_STEPPED)
		unwind_leave(s);
	return result;
}

__noinline int unwind_by_link_register(struct stack_scratch *s)
{
	__u64 pc, start, ra;

	if (!s || !walk_link_register(&s->frame, &ra))
		return 0;
	pc = s->frame.pc;
	start = s->mapping.start;
	s->frame.pc = ra;
	if (unwind_find_mapping(s, ra - 1) && unwind_find_rule(s, 1) &&
	    (s->rule.cfa_kind != UNWIND_CFA_NONE || s->mapping.start != start)) {
		walk_to_return(&s->frame, ra, s->frame.sp);
		return 1;
	}
	s->frame.pc = pc;
	return 0;
}

__noinline int unwind_by_frame_pointer(struct stack_scratch *s)
{
	__u64 pair[2];

	if (!s || !walk_frame_pointer(&s->frame, pair) || !unwind_find_mapping(s, pair[1] - 1))
		return 0;
	walk_to_frame_pointer(&s->frame, pair);
	return 1;
}

static __always_inline bool follows_call(__u64 addr)
{
	__u8 code[WALK_CALL_SIZE];

	return !bpf_probe_read_user(code, sizeof(code), (const void *)(addr - sizeof(code))) &&
	       walk_is_call(code, IS_ARM64);
}

__noinline int unwind_try_word(struct stack_scratch *s, __u32 i)
{
	__u64 at, word;

	if (!s)
		return 0;
	at = s->frame.sp + i * 8ull;
	if (bpf_probe_read_user(&word, 8, (const void *)at))
		return -1;
	word &= walk_pc_mask(&s->frame);
	if (!unwind_find_mapping(s, word - 1) || !follows_call(word))
		return 0;
	walk_to_return(&s->frame, word, at + 8);
	return 1;
}

static long scan_word(__u32 i, void *ctx)
{
	struct loop *loop = ctx;
	int result = unwind_try_word(loop->s, i);

	if (!result)
		return 0;
	loop->found = result > 0;
	return 1;
}

/*
 * Steps to the nearest word on the stack that looks like a return address: a guess, marked as one.
 */
static __always_inline bool unwind_by_scan(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	bpf_loop(WALK_SCAN_WORDS, scan_word, &loop, 0);
	return loop.found;
}

/* Notes where on the stack the frame begins. */
static __always_inline void note_sp(const struct stack_scratch *s, __u32 i)
{
	struct runtime_scratch *m = own_runtime_scratch();

	if (m && i < USER_DEPTH_MAX)
		m->sps[i] = s->frame.sp | s->frame.by_fp;
}

/* Appends the frame's pc to the stack record. False: no room. */
__noinline int unwind_push(struct stack_scratch *s, __u8 kind)
{
	__u32 user_depth, at;
	__u64 pc, block;

	if (!s)
		return 0;
	user_depth = s->user_depth;
	at = s->kernel_depth + user_depth;
	if (user_depth >= USER_DEPTH_MAX || at >= DEPTH_MAX) {
		s->stack_flags |= STACK_TRUNCATED;
		return 0;
	}
	pc = s->frame.pc;
	s->words[HEADER_WORDS + at] = pc;
	s->kinds[at] = kind;
	s->sums[user_depth] = s->sum = sum_frame(s->sum, pc, kind);
	s->user_depth = user_depth + 1;
	if (s->runtime)
		note_sp(s, user_depth);
	block = s->frame.sp >> STACK_BLOCK_SHIFT;
	if (block != s->block) {
		s->block = block;
		s->end_depth = user_depth + 1;
	}
	return 1;
}

/* Is the frame left to the program of the process's runtime? Until that has it, it is broken. */
static __always_inline bool stops_for_runtime(struct stack_scratch *s)
{
	if (!runtime_resumes(s->runtime) || s->resumes == RESUME_REFUSED)
		return false;
	s->resumes = RESUME_HERE;
	s->stack_flags |= STACK_BROKEN;
	return true;
}

/* Calls of probed functions, the latest ones, that are searched. */
#define PROBED_CALLS_MAX 4

/*
 * While a function runs whose return is probed, its return address is that of a page of the
 * kernel's, and the kernel keeps the true one, which becomes the frame's pc.
 */
__noinline int unwind_find_return(struct stack_scratch *s)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct return_instance *call;
	__u64 at;

	/* Such a function returns to the start of that page. */
	if (!s || s->frame.pc & 0xfff || !task->utask)
		return 0;
	at = s->frame.sp - (IS_ARM64 ? 0 : 8);
	call = task->utask->return_instances;
	for (int i = 0; i < PROBED_CALLS_MAX && call; i++) {
		if (call->stack == at) {
			s->frame.pc = call->orig_ret_vaddr;
			return 0;
		}
		call = call->next;
	}
	return 0;
}

/* Steps one frame outwards by any method. 0: the stack has ended, s->stack_flags says how. */
static __always_inline int unwind_frame(struct stack_scratch *s)
{
	__u32 back = s->frame.is_pc ? 0 : 1;
	__u8 kind = FRAME_NATIVE;
	int result;

	if (!unwind_find_rule(s, back)) {
		if (stops_for_runtime(s))
			return 0;
		/* Garbage, or code mapped a moment ago: user space will know. */
		s->stack_flags |= STACK_UNKNOWN;
		return 0;
	}
	/* In a system call that is a function's last instruction, the pc is past the function. */
	if (!back && s->rule.cfa_kind == UNWIND_CFA_NONE)
		unwind_find_rule(s, 1);
	if (!walk_needs_sp_alone(&s->frame, &s->rule))
		unwind_load_needed(s);
	result = unwind_step(s);
	if (result == WALK_NO_RULE && s->rule.cfa_kind != UNWIND_CFA_NONE)
		result = unwind_to_other_stack(s);
	if (result == WALK_END ||
	    (result == WALK_NO_RULE && walk_is_chain_end(&s->frame, &s->mapping, s->pending))) {
		s->stack_flags |= STACK_WHOLE;
		return 0;
	}
	if (result == WALK_STEPPED) {
		if (config.return_probes)
			unwind_find_return(s);
		if (s->frame.is_pc)
			kind = FRAME_SIGNAL;
		return unwind_push(s, kind);
	}
	if (result == WALK_NO_RULE && !(s->mapping.flags & (UNWIND_HAS_TABLE | s->pending)) &&
	    stops_for_runtime(s))
		return 0;
	if (s->mapping.flags & s->pending) {
		s->stack_flags |= STACK_UNKNOWN;
		return 0;
	}
	/* Any other method would miss what leads from one stack to another. */
	if (!(config.unwind & UNWIND_BY_FRAME_POINTER) ||
	    s->rule.cfa_kind >= UNWIND_CFA_OTHER_STACK) {
		s->stack_flags |= STACK_BROKEN;
		return 0;
	}
	if (IS_ARM64 && result == WALK_NO_RULE && unwind_by_link_register(s))
		return unwind_push(s, kind);
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
	struct loop *loop = ctx;
	int more = unwind_frame(loop->s);

	/* The verifier must see that only 0 and 1 are returned. */
	barrier_var(more);
	return more ? 0 : 1;
}

#endif
