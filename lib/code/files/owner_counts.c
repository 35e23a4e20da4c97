/* SPDX-License-Identifier: MIT */
#include "lib/code/files/owner_counts.h"

void owner_counts_release(struct owner_counts *c)
{
	vec_release(&c->rows);
	vec_release(&c->heads);
	index_release(&c->by_pid);
}

static bool has_pid(const void *table, uint32_t row, const void *key)
{
	const struct owner_counts *c = table;

	return c->rows.items[row].pid == *(const uint32_t *)key;
}

static void unlink_row(struct owner_counts *c, uint32_t row)
{
	const struct owner *o = &c->rows.items[row];

	if (o->before == NO_OWNER)
		c->heads.items[o->count] = o->after == NO_OWNER ? 0 : o->after + 1;
	else
		c->rows.items[o->before].after = o->after;
	if (o->after != NO_OWNER)
		c->rows.items[o->after].before = o->before;
}

static void link_row(struct owner_counts *c, uint32_t row)
{
	struct owner *o = &c->rows.items[row];
	uint32_t *head;

	if (c->heads.count <= o->count)
		vec_add_zeroed(&c->heads, o->count + 1 - c->heads.count);
	head = &c->heads.items[o->count];
	o->before = NO_OWNER;
	o->after = *head ? *head - 1 : NO_OWNER;
	if (*head)
		c->rows.items[*head - 1].before = row;
	*head = row + 1;
}

static uint32_t new_row(struct owner_counts *c, uint32_t pid)
{
	uint32_t row = c->free_row;

	if (row) {
		c->free_row = c->rows.items[--row].after;
	} else {
		row = (uint32_t)c->rows.count;
		vec_add_zeroed(&c->rows, 1);
	}
	c->rows.items[row] = (struct owner){.pid = pid};
	index_add(&c->by_pid, hash_u64(pid), row);
	return row;
}

uint32_t owner_counts_add(struct owner_counts *c, uint32_t pid)
{
	uint32_t row = index_find(&c->by_pid, hash_u64(pid), has_pid, c, &pid);

	if (row == INDEX_NONE)
		row = new_row(c, pid);
	else
		unlink_row(c, row);
	c->rows.items[row].count++;
	link_row(c, row);
	if (c->rows.items[row].count > c->largest)
		c->largest = c->rows.items[row].count;
	return row;
}

void owner_counts_remove(struct owner_counts *c, uint32_t row)
{
	struct owner *o = &c->rows.items[row];

	unlink_row(c, row);
	/* It was the only one with that count, so it still has the most. */
	if (o->count == c->largest && !c->heads.items[o->count])
		c->largest--;
	if (--o->count) {
		link_row(c, row);
		return;
	}
	index_remove(&c->by_pid, hash_u64(o->pid), row);
	o->after = c->free_row;
	c->free_row = row + 1;
}

uint32_t owner_counts_largest(const struct owner_counts *c)
{
	return c->largest ? c->heads.items[c->largest] - 1 : NO_OWNER;
}
