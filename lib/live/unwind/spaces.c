/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/spaces.h"

void spaces_release(struct spaces *s)
{
	vec_for_each(&s->rows, struct space *, space) {
		if (space->mappings)
			mapping_table_drop(space->mappings);
	}
	vec_release(&s->rows);
	vec_release(&s->free);
	vec_release(&s->dirty);
	index_release(&s->by_pid);
}

static bool pid_equal(const void *table, uint32_t id, const void *key)
{
	const struct spaces *s = table;

	return s->rows.items[id].pid == *(const uint32_t *)key;
}

struct space *spaces_find(struct spaces *s, uint32_t pid)
{
	uint32_t id = index_find(&s->by_pid, hash_u64(pid), pid_equal, s, &pid);

	return id == INDEX_NONE ? NULL : &s->rows.items[id];
}

struct space *spaces_add(struct spaces *s, uint32_t pid)
{
	uint32_t id;

	if (s->free.count) {
		id = s->free.items[--s->free.count];
	} else {
		id = (uint32_t)s->rows.count;
		vec_add_zeroed(&s->rows, 1);
	}
	s->rows.items[id] = (struct space){.pid = pid};
	index_add(&s->by_pid, hash_u64(pid), id);
	return &s->rows.items[id];
}

void spaces_remove(struct spaces *s, struct space *space)
{
	uint32_t id = (uint32_t)(space - s->rows.items);

	if (space->mappings)
		mapping_table_drop(space->mappings);
	index_remove(&s->by_pid, hash_u64(space->pid), id);
	/* A dirty one is still in the list of those. */
	*space = (struct space){.is_dirty = space->is_dirty};
	if (!space->is_dirty)
		vec_push(&s->free, id);
}

void spaces_mark_dirty(struct spaces *s, struct space *space)
{
	if (space->is_dirty)
		return;
	space->is_dirty = true;
	vec_push(&s->dirty, (uint32_t)(space - s->rows.items));
}

struct space *spaces_next_dirty(struct spaces *s)
{
	while (s->dirty.count) {
		uint32_t id = s->dirty.items[--s->dirty.count];
		struct space *space = &s->rows.items[id];

		space->is_dirty = false;
		if (space->pid)
			return space;
		vec_push(&s->free, id);
	}
	return NULL;
}
