/* SPDX-License-Identifier: MIT */
#include "lib/session/raw_stacks.h"

#include "lib/stream/record.h"

struct content_key {
	const struct rec_stack *rec;
	uint32_t depth;
};

void raw_stacks_release(struct raw_stacks *s)
{
	vec_release(&s->words);
	vec_release(&s->rows);
	vec_release(&s->sent);
	index_release(&s->by_content);
	index_release(&s->by_stack_id);
}

const uint64_t *raw_stack_addrs(const struct raw_stacks *s, const struct raw_stack *stack)
{
	return s->words.items + stack->first_word;
}

const uint8_t *raw_stack_kinds(const struct raw_stacks *s, const struct raw_stack *stack)
{
	return (const uint8_t *)(raw_stack_addrs(s, stack) + stack->kernel_depth +
				 stack->user_depth);
}

static bool content_equal(const void *table, uint32_t id, const void *key)
{
	const struct raw_stacks *s = table;
	const struct content_key *wanted = key;
	const struct rec_stack *rec = wanted->rec;
	const struct raw_stack *row = &s->rows.items[id];

	if (row->kernel_depth != rec->kernel_depth || row->user_depth != rec->user_depth ||
	    row->flags != rec->rec.flags)
		return false;
	return !wanted->depth ||
	       (!memcmp(raw_stack_addrs(s, row), rec->addrs, wanted->depth * sizeof(uint64_t)) &&
		!memcmp(raw_stack_kinds(s, row), rec_stack_kinds(rec), wanted->depth));
}

static raw_stack_id intern(struct raw_stacks *s, const struct rec_stack *rec)
{
	const struct content_key key = {rec, (uint32_t)rec->kernel_depth + rec->user_depth};
	size_t addrs_size = key.depth * sizeof(uint64_t);
	uint64_t shape = (uint64_t)rec->rec.flags << 32 | (uint32_t)rec->kernel_depth << 16 |
			 rec->user_depth;
	/* The kinds hardly ever tell two stacks apart; comparing them is enough. */
	uint64_t hash = hash_bytes(rec->addrs, addrs_size, shape);
	raw_stack_id id = index_find(&s->by_content, hash, content_equal, s, &key);

	if (id != INDEX_NONE)
		return id;

	struct raw_stack row = {
		.first_word = s->words.count,
		.kernel_depth = rec->kernel_depth,
		.user_depth = rec->user_depth,
		.flags = rec->rec.flags,
	};
	/* At least one, so that even an empty stack has a place. */
	size_t count = key.depth ? key.depth + (key.depth + 7) / 8 : 1;
	uint64_t *words = vec_add_zeroed(&s->words, count);

	if (key.depth) {
		memcpy(words, rec->addrs, addrs_size);
		memcpy(words + key.depth, rec_stack_kinds(rec), key.depth);
	}
	id = (raw_stack_id)s->rows.count;
	vec_push(&s->rows, row);
	index_add(&s->by_content, hash, id);
	return id;
}

static bool stack_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct raw_stacks *s = table;

	return s->sent.items[id].stack_id == *(const uint32_t *)key;
}

static uint32_t find_sent(const struct raw_stacks *s, uint32_t wire_id)
{
	return index_find(&s->by_stack_id, hash_u64(wire_id), stack_id_equal, s, &wire_id);
}

raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec)
{
	raw_stack_id stack = intern(s, rec);
	uint32_t sent = find_sent(s, rec->stack_id);

	if (sent != INDEX_NONE) {
		s->sent.items[sent].stack = stack;
		return stack;
	}
	index_add(&s->by_stack_id, hash_u64(rec->stack_id), (uint32_t)s->sent.count);
	vec_push(&s->sent, (struct sent_stack){rec->stack_id, stack});
	return stack;
}

raw_stack_id raw_stacks_find(const struct raw_stacks *s, uint32_t wire_id)
{
	uint32_t sent = find_sent(s, wire_id);

	return sent == INDEX_NONE ? NO_RAW_STACK : s->sent.items[sent].stack;
}
