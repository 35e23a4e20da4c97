/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state_internal.h"

#include <stdlib.h>

static bool start_equal(const void *table, uint32_t row, const void *key)
{
	const struct state_process *p = table;

	return p->code.items[row] && p->code.items[row]->start == *(const uint64_t *)key;
}

/* Drops older code that begins at the same address: nearly all that is replaced does. */
void state_code_add(struct state_process *p, const struct rec_code *rec)
{
	uint64_t hash = hash_u64(rec->start);
	uint32_t row;

	if (!(rec->rec.flags & CODE_MANAGED)) {
		row = index_find(&p->by_start, hash, start_equal, p, &rec->start);
		if (row != INDEX_NONE && p->code.items[row]->size <= rec->size) {
			index_remove(&p->by_start, hash, row);
			free(p->code.items[row]);
			p->code.items[row] = NULL;
		}
		if (row == INDEX_NONE || !p->code.items[row])
			index_add(&p->by_start, hash, (uint32_t)p->code.count);
	}
	vec_push(&p->code, state_copy(&rec->rec));
}

void state_code_clear(struct state_process *p)
{
	vec_for_each(&p->code, struct rec_code **, rec)
		free(*rec);
	vec_release(&p->code);
	index_release(&p->by_start);
	p->by_start = (struct index){0};
}
