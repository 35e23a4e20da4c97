/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/frames.h"

#include <stdbool.h>

void frames_release(struct frames *f)
{
	vec_release(&f->rows);
	index_release(&f->index);
}

/* Frames differ by their place alone, mostly: what else there is needs no more than a product. */
static uint64_t frame_hash(const struct frame *frame)
{
	uint64_t place = hash_pair((uint64_t)frame->module << 32 | frame->func, frame->offset);
	uint64_t rest = (uint64_t)frame->symbol << 32 | frame->line;
	uint64_t code = (uint32_t)frame->language << 8 | frame->tier;
	uint64_t category = (uint32_t)frame->category << 8 | frame->subcategory;

	rest ^= ((uint64_t)frame->inline_depth << 8 | frame->kind) << 20 ^ code << 48 ^
		category << 32;
	return place ^ rest * 0x9e3779b97f4a7c15ull;
}

static bool frame_equal(const void *table, uint32_t id, const void *key)
{
	const struct frame *a = &((const struct frames *)table)->rows.items[id], *b = key;

	return a->offset == b->offset && a->module == b->module && a->func == b->func &&
	       a->symbol == b->symbol && a->line == b->line && a->inline_depth == b->inline_depth &&
	       a->kind == b->kind && a->language == b->language && a->tier == b->tier &&
	       a->category == b->category && a->subcategory == b->subcategory;
}

frame_id frames_intern(struct frames *f, const struct frame *frame)
{
	uint64_t hash = frame_hash(frame);
	frame_id id = index_find(&f->index, hash, frame_equal, f, frame);

	if (id != INDEX_NONE)
		return id;
	id = (frame_id)f->rows.count;
	vec_push(&f->rows, *frame);
	index_add(&f->index, hash, id);
	return id;
}

const struct frame *frames_get(const struct frames *f, frame_id id)
{
	return &f->rows.items[id];
}
