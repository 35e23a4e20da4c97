/* SPDX-License-Identifier: MIT */
#include "lib/session/early_stacks.h"

#include "lib/base/alloc.h"
#include "lib/record/record.h"

void early_stacks_release(struct early_stacks *e)
{
	vec_for_each(&e->records, struct rec_stack **, rec)
		free(*rec);
	vec_release(&e->records);
}

void early_stacks_add(struct early_stacks *e, const struct rec_stack *rec)
{
	struct rec_stack *copy;

	if (e->records.count == EARLY_STACKS_MAX)
		return;
	copy = xcalloc(1, record_size(&rec->rec));
	memcpy(copy, rec, record_size(&rec->rec));
	vec_push(&e->records, copy);
}

struct rec_stack *early_stacks_take(struct early_stacks *e, uint32_t prefix_id)
{
	for (size_t i = 0; i < e->records.count; i++) {
		struct rec_stack *rec = e->records.items[i];

		if (rec->prefix_id != prefix_id)
			continue;
		/* In order: of two with one id the later one is to count. */
		memmove(e->records.items + i, e->records.items + i + 1,
			(--e->records.count - i) * sizeof(rec));
		return rec;
	}
	return NULL;
}
