/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the mapping and the rule of an address, in the tables of unwind.h. */
#pragma once

#include "bpf/stack_scratch.bpf.h"
#include "bpf/tables.bpf.h"

static __always_inline const __u32 *shard_words(__u32 shard)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&unwind_shards, &shard);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

/* Steps of a search: all mappings of a process lie in one shard. */
#define SPACE_MAPPINGS_SHIFT 16
_Static_assert(UNWIND_SHARD_BYTES >> SPACE_MAPPINGS_SHIFT <= sizeof(struct unwind_mapping),
	       "all mappings can be found");

/* A binary search. Its variables are in s->rows: the verifier does not follow values there. */
struct search {
	struct stack_scratch *s;
	const __u32 *words; /* words of the shard */
	__u64 addr;
};

static __always_inline const struct unwind_mapping *mapping_at(const struct search *search, __u32 i)
{
	__u32 at = (search->s->space.at + i * (sizeof(struct unwind_mapping) / 4)) &
		   (UNWIND_SHARD_WORDS - 1) & ~15u;

	return (const struct unwind_mapping *)(search->words + at);
}

/* The verifier follows every turn of a plain loop, hence bpf_loop. */
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

/*
 * Returns whether generated code of the process keeps chains of frame pointers. Runtimes' programs
 * walk for other runtimes only.
 */
static __always_inline bool walks_chains(const struct stack_scratch *s)
{
#ifdef RUNTIME_STACK_HEADER
	return false;
#else
	return runtime_has(s->runtime, RUNTIME_WALK_CHAINS);
#endif
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
 * s->mapping is the mapping of the address. False: the address is unknown.
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
		if (number == UNWIND_RULES_MAX && s->frame.by_fp && walks_chains(s)) {
			s->mapping.start = s->mapping.end = s->mapping.flags = 0;
			number = UNWIND_RULE_NONE;
		}
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

/*
 * Returns the enum walk_call before an address. A global function, so the verifier checks it once,
 * independent of its callers.
 */
__noinline int follows_call(__u64 addr)
{
	__u8 code[WALK_CALL_SIZE];

	return bpf_probe_read_user(code, sizeof(code), (const void *)(addr - sizeof(code)))
		       ? 0
		       : walk_is_call(code, IS_ARM64);
}
