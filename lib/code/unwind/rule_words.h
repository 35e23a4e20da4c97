/* SPDX-License-Identifier: MIT */
/*
 * struct unwind_rule as two words. The compiler changes a rule byte by byte and reads it whole
 * after every other CFI instruction; in memory, each read would wait for the stores.
 */
#pragma once

#include "bpf/unwind.h"
#include "lib/base/base.h"

struct rule_words {
	uint64_t low, high;
};

/* The caller's values in a rule, in the order of their bits and offsets. */
enum unwind_value {
	UNWIND_VALUE_RA,
	UNWIND_VALUE_FP,
	UNWIND_VALUE_BASE,
	UNWIND_VALUE_COUNT,
	UNWIND_VALUE_SP = UNWIND_VALUE_COUNT, /* not in the rule: equals the CFA */
	UNWIND_VALUE_NONE, /* a register that rules do not track */
};

#define RULE_KIND_SHIFT(value) (8 * offsetof(struct unwind_rule, kinds) + 2 * (value))
#define RULE_OFFSET_SHIFT(value) (16 + 16 * (value))

_Static_assert(offsetof(struct unwind_rule, cfa_offset) == 4 &&
		       offsetof(struct unwind_rule, cfa_deref) == 8 &&
		       offsetof(struct unwind_rule, ra_offset) == 10 &&
		       offsetof(struct unwind_rule, fp_offset) == 12 &&
		       offsetof(struct unwind_rule, base_offset) == 14 &&
		       sizeof(struct rule_words) == sizeof(struct unwind_rule),
	       "words as the functions here take them apart");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words as the functions here take them apart"
#endif

static inline struct rule_words rule_pack(const struct unwind_rule *rule)
{
	struct rule_words words;

	memcpy(&words, rule, sizeof(words));
	return words;
}

static inline struct unwind_rule rule_unpack(struct rule_words words)
{
	struct unwind_rule rule;

	memcpy(&rule, &words, sizeof(rule));
	return rule;
}

static inline uint8_t rule_cfa_kind(struct rule_words words)
{
	return (uint8_t)words.low;
}

static inline int32_t rule_cfa_offset(struct rule_words words)
{
	return (int32_t)(words.low >> 32);
}

static inline void rule_set_cfa(struct rule_words *words, unsigned int kind, unsigned int reg,
				int32_t offset, int16_t deref)
{
	uint64_t kept = (1ull << (24 + UNWIND_INDEX_SHIFT)) - (1 << 16);

	words->low = (words->low & kept) | kind | reg << 8 | (uint64_t)(uint32_t)offset << 32;
	words->high = (words->high & ~0xffffull) | (uint16_t)deref;
}

/* Call just after setting UNWIND_CFA_INDEXED or UNWIND_CFA_DEREF_TWICE. */
static inline void rule_set_index(struct rule_words *words, unsigned int reg)
{
	words->low |= (uint64_t)reg << (24 + UNWIND_INDEX_SHIFT);
}

static inline void rule_set_cfa_offset(struct rule_words *words, int32_t offset)
{
	words->low = (uint32_t)words->low | (uint64_t)(uint32_t)offset << 32;
}

static inline void rule_flip_flags(struct rule_words *words, uint8_t flags)
{
	words->low ^= (uint64_t)flags << 24;
}

static inline unsigned int rule_value_kind(struct rule_words words, enum unwind_value value)
{
	return words.low >> RULE_KIND_SHIFT(value) & 3;
}

static inline int16_t rule_value_offset(struct rule_words words, enum unwind_value value)
{
	return (int16_t)(words.high >> RULE_OFFSET_SHIFT(value));
}

static inline void rule_set_value(struct rule_words *words, enum unwind_value value,
				  unsigned int kind, int16_t offset)
{
	words->low &= ~(3ull << RULE_KIND_SHIFT(value));
	words->low |= (uint64_t)kind << RULE_KIND_SHIFT(value);
	words->high &= ~(0xffffull << RULE_OFFSET_SHIFT(value));
	words->high |= (uint64_t)(uint16_t)offset << RULE_OFFSET_SHIFT(value);
}

/* Sets the base register of UNWIND_AT_REG values: bits 6-7 of kinds. */
static inline void rule_set_at_reg(struct rule_words *words, unsigned int reg)
{
	words->low &= ~(3ull << RULE_KIND_SHIFT(UNWIND_VALUE_COUNT));
	words->low |= (uint64_t)reg << RULE_KIND_SHIFT(UNWIND_VALUE_COUNT);
}

/* Returns whether any value is of kind UNWIND_AT_REG, binary 10. */
static inline bool rule_has_at_reg(struct rule_words words)
{
	unsigned int kinds = words.low >> RULE_KIND_SHIFT(0) & 0x3f;

	return kinds >> 1 & ~kinds & 0x15;
}
