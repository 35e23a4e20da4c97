/* SPDX-License-Identifier: MIT */
#include "lib/session/parking.h"

#define NONE UINT32_MAX

void parking_release(struct parking *p)
{
	struct pending_sample sample;
	uint32_t cursor = 0;

	while (parking_take_next(p, &cursor, &sample))
		mapping_table_drop(sample.mappings);
	vec_release(&p->rows);
	index_release(&p->by_stack_id);
}

static bool stack_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct parking *p = table;

	return p->rows.items[id].sample.rec.stack_id == *(const uint32_t *)key;
}

static uint32_t find_first(const struct parking *p, uint32_t wire_id)
{
	return index_find(&p->by_stack_id, hash_u64(wire_id), stack_id_equal, p, &wire_id);
}

bool parking_add(struct parking *p, const struct pending_sample *sample)
{
	uint32_t wire_id = sample->rec.stack_id, first = find_first(p, wire_id), id;

	if (p->count == PARKING_MAX || p->mappings_size > PARKING_MAPPINGS_MAX)
		return false;
	if (p->free) {
		id = p->free - 1;
		p->free = p->rows.items[id].next + 1;
	} else {
		id = (uint32_t)p->rows.count;
		vec_add_zeroed(&p->rows, 1);
	}

	struct parked *row = &p->rows.items[id];

	*row = (struct parked){.sample = *sample, .next = NONE, .is_taken = true};
	p->mappings_size += mapping_table_await(sample->mappings);
	p->count++;
	/* Behind the first one, so that the index needs no change. */
	if (first == NONE) {
		index_add(&p->by_stack_id, hash_u64(wire_id), id);
	} else {
		row->next = p->rows.items[first].next;
		p->rows.items[first].next = id;
	}
	return true;
}

bool parking_take(struct parking *p, uint32_t wire_id, struct pending_sample *sample)
{
	uint32_t first = p->count ? find_first(p, wire_id) : NONE, next;

	if (first == NONE)
		return false;
	*sample = p->rows.items[first].sample;
	mapping_table_hold(sample->mappings);
	p->mappings_size -= mapping_table_settle(sample->mappings);
	next = p->rows.items[first].next;
	index_remove(&p->by_stack_id, hash_u64(wire_id), first);
	if (next != NONE)
		index_add(&p->by_stack_id, hash_u64(wire_id), next);
	p->rows.items[first].is_taken = false;
	/* NONE + 1 is 0, the end of the free ones. */
	p->rows.items[first].next = p->free - 1;
	p->free = first + 1;
	p->count--;
	return true;
}

bool parking_take_next(struct parking *p, uint32_t *cursor, struct pending_sample *sample)
{
	while (*cursor < p->rows.count && !p->rows.items[*cursor].is_taken)
		++*cursor;
	if (*cursor >= p->rows.count)
		return false;
	return parking_take(p, p->rows.items[*cursor].sample.rec.stack_id, sample);
}
