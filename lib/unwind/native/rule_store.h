/* SPDX-License-Identifier: MIT */
/*
 * The rules of all tables, each once, in the memory that a walker reads. Who compiles interns into
 * rules of his own, as tables ask for rules all the time, and then asks for the numbers that those
 * have here; several threads may do so at once.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_RULE_STORE_H
#define PROF_LIB_UNWIND_NATIVE_RULE_STORE_H

#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/base/vec.h"
#include "lib/unwind/unwind_table.h"

struct rule_store;

/*
 * `memory` has room for UNWIND_RULES_MAX, zeroed, and is borrowed; NULL: the store has its own. The
 * rules with fixed numbers are there from the beginning.
 */
struct rule_store *rule_store_new(struct unwind_rule *memory);
/* NULL is fine. */
void rule_store_free(struct rule_store *s);
/* UNWIND_RULES_MAX of them; a rule never changes once it has a number. */
const struct unwind_rule *rule_store_rules(const struct rule_store *s);

/* Rules of one who compiles, and the numbers that they have in the store. */
struct rule_numbers {
	struct unwind_rules rules;
	VEC(uint16_t) numbers; /* by the number in `rules`, as far as known */
};

void rule_numbers_init(struct rule_numbers *n);
void rule_numbers_release(struct rule_numbers *n);
/* Finds the numbers of the rules that have none yet; those that are new are stored first. */
void rule_store_number(struct rule_store *s, struct rule_numbers *n);

#endif
