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

	*row = (struct parked){.sample = *sample, .next = NONE, .last = id, .is_taken = true};
	p->mappings_size += mapping_table_await(sample->mappings);
	p->count++;
	if (first == NONE) {
		index_add(&p->by_stack_id, hash_u64(wire_id), id);
	} else {
		p->rows.items[p->rows.items[first].last].next = id;
		p->rows.items[first].last = id;
	}
	return true;
}

/*
 * Takes the oldest sample out of the chain that begins with `first`. The row stays where it is as
 * long as there is another sample for it, so that the index is touched only when the chain ends.
 */
static uint32_t unchain(struct parking *p, uint32_t first)
{
	struct parked *row = &p->rows.items[first], *next;
	uint32_t id = row->next;

	if (id == NONE) {
		index_remove(&p->by_stack_id, hash_u64(row->sample.rec.stack_id), first);
		return first;
	}
	next = &p->rows.items[id];
	row->sample = next->sample;
	row->next = next->next;
	if (row->last == id)
		row->last = first;
	return id;
}

bool parking_take(struct parking *p, uint32_t wire_id, struct pending_sample *sample)
{
	uint32_t first = p->count ? find_first(p, wire_id) : NONE, id;

	if (first == NONE)
		return false;
	*sample = p->rows.items[first].sample;
	mapping_table_hold(sample->mappings);
	p->mappings_size -= mapping_table_settle(sample->mappings);
	id = unchain(p, first);
	p->rows.items[id].is_taken = false;
	/* NONE + 1 is 0, the end of the free ones. */
	p->rows.items[id].next = p->free - 1;
	p->free = id + 1;
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
