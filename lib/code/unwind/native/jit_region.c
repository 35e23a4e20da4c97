/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/jit_region.h"

#include <string.h>

#include "lib/base/alloc.h"

#define PAGES ((uint32_t)(JIT_REGION_SIZE >> UNWIND_PAGE_SHIFT))

struct jit_region *jit_region_new(uint64_t start)
{
	struct jit_region *region = xcalloc(1, sizeof(*region));

	region->holders = 1;
	region->is_stale = true;
	region->start = start;
	vec_push(&region->rules, (struct jit_rule){.rule = UNWIND_RULE_NONE});
	return region;
}

struct jit_region *jit_region_copy(const struct jit_region *region)
{
	struct jit_region *copy = xcalloc(1, sizeof(*copy));

	copy->holders = 1;
	copy->is_stale = true;
	copy->start = region->start;
	vec_for_each(&region->rules, const struct jit_rule *, rule)
		vec_push(&copy->rules, *rule);
	return copy;
}

void jit_region_free(struct jit_region *region)
{
	vec_release(&region->rules);
	free(region);
}

uint64_t jit_region_bytes(const struct jit_region *region)
{
	return sizeof(*region) + region->rules.capacity * sizeof(*region->rules.items);
}

/* Returns the number of rules that begin below `offset`. */
static size_t count_below(const struct jit_region *region, uint32_t offset)
{
	return vec_count_front(&region->rules, it, it->offset < offset);
}

/* Makes room for `count` rules at `first`, in place of `old` rules. Returns the room. */
static struct jit_rule *make_room(struct jit_region *region, size_t first, size_t old, size_t count)
{
	size_t behind = region->rules.count - first - old;

	vec_reserve(&region->rules, region->rules.count - old + count);
	memmove(region->rules.items + first + count, region->rules.items + first + old,
		behind * sizeof(*region->rules.items));
	region->rules.count = first + count + behind;
	return region->rules.items + first;
}

bool jit_region_set(struct jit_region *region, uint32_t from, uint32_t to,
		    const struct jit_rule *rules, size_t count)
{
	const struct jit_rule none = {.offset = (uint16_t)from, .rule = UNWIND_RULE_NONE};
	size_t first = count_below(region, from), end = count_below(region, to);
	/* The rule that holds at `to` must continue there. */
	bool goes_on = to < JIT_REGION_SIZE &&
		       (end == region->rules.count || region->rules.items[end].offset != to);
	struct jit_rule last = {.offset = (uint16_t)to, .rule = region->rules.items[end - 1].rule};
	bool is_fine = region->rules.count - (end - first) + count < JIT_REGION_ROWS_MAX;
	struct jit_rule *at;

	if (!is_fine) {
		rules = &none;
		count = 1;
	}
	/* Merge with an equal rule before. An equal rule after costs at most a row. */
	if (first && count && rules->rule == region->rules.items[first - 1].rule) {
		rules++;
		count--;
	}
	at = make_room(region, first, end - first, count + goes_on);
	if (count)
		memcpy(at, rules, count * sizeof(*rules));
	if (goes_on)
		at[count] = last;
	region->is_stale = true;
	return is_fine;
}

uint32_t jit_region_words(const struct jit_region *region)
{
	return PAGES + 1 + (uint32_t)region->rules.count;
}

void jit_region_write(const struct jit_region *region, uint32_t *words)
{
	uint32_t page = 0;

	for (uint32_t i = 0; i < region->rules.count; i++) {
		const struct jit_rule *rule = &region->rules.items[i];
		struct unwind_row row = {.pc_low = rule->offset & (UNWIND_PAGE_SIZE - 1),
					 .rule = rule->rule};

		while (page <= (uint32_t)rule->offset >> UNWIND_PAGE_SHIFT)
			words[page++] = i;
		memcpy(&words[PAGES + 1 + i], &row, sizeof(row));
	}
	while (page <= PAGES)
		words[page++] = (uint32_t)region->rules.count;
}

void jit_region_describe(const struct jit_region *region, struct unwind_mapping *m)
{
	m->flags = UNWIND_HAS_TABLE;
	m->bias = m->entry = 0;
	m->table_start = region->start;
	m->shard = region->piece.shard;
	m->index_at = region->piece.at;
	m->page_count = PAGES;
	m->rows_at = region->piece.at + PAGES + 1;
}
