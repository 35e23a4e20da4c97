/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/rule_store.h"

#include <pthread.h>

struct rule_store {
	pthread_mutex_t lock;
	struct unwind_rules rules;
	struct unwind_rule *memory, *own; /* own: owned; NULL: memory is borrowed */
	size_t stored;
};

static void store(struct rule_store *s)
{
	for (; s->stored < s->rules.rows.count; s->stored++)
		s->memory[s->stored] = s->rules.rows.items[s->stored];
}

struct rule_store *rule_store_new(struct unwind_rule *memory)
{
	struct rule_store *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	if (!memory)
		s->own = xcalloc(UNWIND_RULES_MAX, sizeof(*s->own));
	s->memory = memory ? memory : s->own;
	unwind_rules_init(&s->rules);
	store(s);
	return s;
}

void rule_store_free(struct rule_store *s)
{
	if (!s)
		return;
	unwind_rules_release(&s->rules);
	pthread_mutex_destroy(&s->lock);
	free(s->own);
	free(s);
}

const struct unwind_rule *rule_store_rules(const struct rule_store *s)
{
	return s->memory;
}

void rule_numbers_init(struct rule_numbers *n)
{
	*n = (struct rule_numbers){0};
	unwind_rules_init(&n->rules);
	for (uint16_t id = 0; id < UNWIND_RULE_FIRST; id++)
		vec_push(&n->numbers, id);
}

void rule_numbers_release(struct rule_numbers *n)
{
	unwind_rules_release(&n->rules);
	vec_release(&n->numbers);
}

void rule_store_number(struct rule_store *s, struct rule_numbers *n)
{
	if (n->numbers.count == n->rules.rows.count)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t i = n->numbers.count; i < n->rules.rows.count; i++)
		vec_push(&n->numbers, unwind_rules_intern(&s->rules, &n->rules.rows.items[i]));
	store(s);
	pthread_mutex_unlock(&s->lock);
}
