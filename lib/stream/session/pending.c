/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/pending.h"

#include "lib/base/alloc.h"
#include "lib/stream/record/record.h"

#define NONE UINT32_MAX

void pending_release(struct pending *p)
{
	struct pending_sample sample;
	uint32_t cursor = 0;

	while (pending_take_next(p, UINT64_MAX, &cursor, &sample))
		mapping_table_drop(sample.mappings);
	vec_release(&p->rows);
	index_release(&p->by_stack_id);
	vec_for_each(&p->stacks, struct rec_stack **, rec)
		free(*rec);
	vec_release(&p->stacks);
}

static bool stack_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct pending *p = table;

	return p->rows.items[id].sample.rec.stack_id == *(const uint32_t *)key;
}

static uint32_t find_first(const struct pending *p, uint32_t wire_id)
{
	return index_find(&p->by_stack_id, hash_u64(wire_id), stack_id_equal, p, &wire_id);
}

bool pending_add(struct pending *p, const struct pending_sample *sample)
{
	uint32_t wire_id = sample->rec.stack_id, first = find_first(p, wire_id), id;

	if (p->count == PENDING_SAMPLES_MAX || p->mappings_size > PENDING_MAPPINGS_MAX)
		return false;
	if (p->free) {
		id = p->free - 1;
		p->free = p->rows.items[id].next + 1;
	} else {
		id = (uint32_t)p->rows.count;
		vec_add_zeroed(&p->rows, 1);
	}

	struct waiting_sample *row = &p->rows.items[id];

	*row = (struct waiting_sample){
		.sample = *sample, .next = NONE, .last = id, .is_taken = true};
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
 * Takes the oldest sample out of the chain that begins with `first`. The first row stays in place
 * while the chain has other samples, so that the index changes only when the chain ends.
 */
static uint32_t unchain(struct pending *p, uint32_t first)
{
	struct waiting_sample *row = &p->rows.items[first], *next;
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

bool pending_take(struct pending *p, uint32_t wire_id, struct pending_sample *sample)
{
	uint32_t first = p->count ? find_first(p, wire_id) : NONE, id;

	if (first == NONE)
		return false;
	*sample = p->rows.items[first].sample;
	mapping_table_hold(sample->mappings);
	p->mappings_size -= mapping_table_settle(sample->mappings);
	id = unchain(p, first);
	p->rows.items[id].is_taken = false;
	/* NONE + 1 is 0, the end of the free list. */
	p->rows.items[id].next = p->free - 1;
	p->free = id + 1;
	p->count--;
	return true;
}

bool pending_take_next(struct pending *p, uint64_t before_ns, uint32_t *cursor,
		       struct pending_sample *sample)
{
	while (*cursor < p->rows.count && (!p->rows.items[*cursor].is_taken ||
					   p->rows.items[*cursor].sample.rec.rec.time >= before_ns))
		++*cursor;
	if (*cursor >= p->rows.count)
		return false;
	return pending_take(p, p->rows.items[*cursor].sample.rec.stack_id, sample);
}

void pending_move_values(struct pending *p, const uint32_t *map)
{
	vec_for_each(&p->rows, struct waiting_sample *, row) {
		uint32_t *value = &row->sample.marker_value;

		if (row->is_taken && *value && *value != NO_VALUE)
			*value = map[*value - 1];
	}
}

void pending_add_stack(struct pending *p, const struct rec_stack *rec)
{
	struct rec_stack *copy;

	if (p->stacks.count == PENDING_STACKS_MAX)
		return;
	copy = xcalloc(1, record_size(&rec->rec));
	memcpy(copy, rec, record_size(&rec->rec));
	vec_push(&p->stacks, copy);
}

struct rec_stack *pending_take_stack(struct pending *p, uint32_t prefix_id)
{
	for (size_t i = 0; i < p->stacks.count; i++) {
		struct rec_stack *rec = p->stacks.items[i];

		if (rec->prefix_id != prefix_id)
			continue;
		/* Keeps the order: of two records with one id the later one counts. */
		memmove(p->stacks.items + i, p->stacks.items + i + 1,
			(--p->stacks.count - i) * sizeof(rec));
		return rec;
	}
	return NULL;
}
