/* SPDX-License-Identifier: MIT */
/*
 * The rules of all tables, each once, in memory that a walker reads. A compiling thread interns
 * rules in its own struct rule_numbers, because that happens all the time, and then gets their
 * numbers in the store. Several threads may do so at once.
 */
#pragma once

#include "bpf/unwind.h"
#include "lib/code/unwind/unwind_table.h"

struct rule_store;

/*
 * `memory` is borrowed, zeroed, and has room for UNWIND_RULES_MAX; NULL: the store allocates its
 * own. Contains the rules with fixed numbers from the start.
 */
struct rule_store *rule_store_new(struct unwind_rule *memory);
/* NULL is fine. */
void rule_store_free(struct rule_store *s);
/* Returns UNWIND_RULES_MAX rules. A numbered rule never changes. */
const struct unwind_rule *rule_store_rules(const struct rule_store *s);

/* The rules of a compiling thread and their numbers in the store. */
struct rule_numbers {
	struct unwind_rules rules;
	VEC(uint16_t) numbers; /* by index in `rules`, for the rules numbered so far */
};

void rule_numbers_init(struct rule_numbers *n);
void rule_numbers_release(struct rule_numbers *n);
/* Numbers the rules without a number, after storing those new to the store. */
void rule_store_number(struct rule_store *s, struct rule_numbers *n);
