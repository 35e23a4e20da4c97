/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state_internal.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/stream/record/record.h"

/* Links of a chain; real ones have some hundreds at most. */
#define LINKS_MAX 2048

void state_stacks_release(struct state_stacks *s)
{
	vec_release(&s->words);
	vec_release(&s->rows);
	index_release(&s->by_id);
}

static const struct rec_stack *stack_at(const struct state_stacks *s, uint32_t row)
{
	return (const struct rec_stack *)(s->words.items + s->rows.items[row]);
}

static bool id_equal(const void *table, uint32_t row, const void *key)
{
	return stack_at(table, row)->stack_id == *(const uint32_t *)key;
}

static const struct rec_stack *find(const struct state_stacks *s, uint32_t id)
{
	uint32_t row = id ? index_find(&s->by_id, hash_u64(id), id_equal, s, &id) : INDEX_NONE;

	return row == INDEX_NONE ? NULL : stack_at(s, row);
}

void state_stacks_add(struct state_stacks *s, const struct rec_stack *rec)
{
	size_t at = s->words.count;

	if (!s->is_wanted || find(s, rec->stack_id))
		return;
	vec_add_zeroed(&s->words, rec->rec.words);
	memcpy(s->words.items + at, rec, record_size(&rec->rec));
	index_add(&s->by_id, hash_u64(rec->stack_id), (uint32_t)s->rows.count);
	vec_push(&s->rows, at);
}

void state_stacks_give(const struct state_stacks *s, uint32_t stack_id, record_sink_fn *sink,
		       void *ctx)
{
	const struct rec_stack *chain[LINKS_MAX];
	size_t count = 0;

	for (const struct rec_stack *rec = find(s, stack_id); rec && count < LINKS_MAX;
	     rec = find(s, rec->prefix_id))
		chain[count++] = rec;
	while (count)
		sink(ctx, &chain[--count]->rec);
}

static void keep(void *ctx, const struct rec *rec)
{
	state_stacks_add(ctx, (const struct rec_stack *)rec);
}

void state_stacks_renew(struct state_stacks *s, const struct state_tasks *t)
{
	struct state_stacks old = *s;

	*s = (struct state_stacks){.is_wanted = old.is_wanted};
	vec_for_each(&t->threads, const struct state_thread *, thread) {
		if (!thread->is_free && thread->wait)
			state_stacks_give(&old, thread->wait->sample.stack_id, keep, s);
	}
	state_stacks_release(&old);
}
