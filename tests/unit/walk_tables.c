/* SPDX-License-Identifier: MIT */
#include "tests/unit/walk_tables.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "tests/unwind_table_find.h"

void walk_tables_init(struct walk_tables *t)
{
	*t = (struct walk_tables){0};
	unwind_rules_init(&t->rules);
}

void walk_tables_release(struct walk_tables *t)
{
	vec_for_each(&t->modules, struct walk_module *, module) {
		binary_summary_release(&module->summary);
		if (module->fd >= 0)
			close(module->fd);
	}
	vec_for_each(&t->shards, struct walk_shard *, shard)
		free((uint32_t *)shard->words);
	vec_release(&t->modules);
	vec_release(&t->shards);
	vec_release(&t->mappings);
	unwind_rules_release(&t->rules);
}

/* The index, then the rows. */
static struct walk_shard store(const struct unwind_table *table)
{
	size_t count = table->index.count + table->rows.count;
	struct walk_shard shard = {.size = 2};
	uint32_t *words;

	while (shard.size < count)
		shard.size *= 2;
	words = xcalloc(shard.size, sizeof(*words));
	if (count) {
		memcpy(words, table->index.items, table->index.count * sizeof(*words));
		memcpy(words + table->index.count, table->rows.items,
		       table->rows.count * sizeof(*words));
	}
	shard.words = words;
	return shard;
}

uint32_t walk_tables_add(struct walk_tables *t, int fd)
{
	struct walk_module module = {.fd = fd};
	struct unwind_table table = {0};

	if (fd >= 0 && binary_summarize(fd, &module.summary, NULL) == 0 &&
	    unwind_table_compile(fd, &t->rules, NULL, &table, NULL) == 0) {
		module.entry = table.has_entry ? 0 : table.entry;
		module.table_start = table.start;
		module.page_count = table.page_count;
		module.rows_at = (uint32_t)table.index.count;
	}
	vec_push(&t->shards, store(&table));
	vec_push(&t->modules, module);
	unwind_table_release(&table);
	return (uint32_t)t->modules.count - 1;
}

bool walk_tables_vaddr(const struct walk_tables *t, uint32_t module, uint64_t offset,
		       uint64_t *vaddr)
{
	const struct binary_summary *summary = &t->modules.items[module].summary;

	for (size_t i = 0; i < summary->segment_count; i++) {
		const struct binary_segment *segment = &summary->segments[i];
		/* Mappings begin at page boundaries, possibly before their segment. */
		uint64_t start = segment->file_offset & ~4095ull;

		if (!segment->executable || offset < start ||
		    offset >= segment->file_offset + segment->file_size)
			continue;
		*vaddr = segment->vaddr + (offset - segment->file_offset);
		return true;
	}
	return false;
}

static struct unwind_mapping describe(const struct walk_tables *t, const struct mapping *mapping)
{
	struct unwind_mapping m = {.start = mapping->start, .end = mapping->end};
	const struct walk_module *module;
	uint64_t vaddr;

	if (mapping->module >= t->modules.count ||
	    !walk_tables_vaddr(t, mapping->module, mapping->file_offset, &vaddr))
		return m;
	module = &t->modules.items[mapping->module];
	m.bias = mapping->start - vaddr;
	m.entry = module->entry;
	m.shard = mapping->module;
	if (module->page_count) {
		m.flags = UNWIND_HAS_TABLE;
		m.table_start = module->table_start;
		m.page_count = module->page_count;
		m.rows_at = module->rows_at;
	}
	return m;
}

void walk_tables_describe(struct walk_tables *t, const struct mapping_table *mappings)
{
	vec_clear(&t->mappings);
	vec_for_each(&mappings->rows, const struct mapping *, mapping)
		vec_push(&t->mappings, describe(t, mapping));
}

void walk_tables_target(const struct walk_tables *t, struct walk_target *target)
{
	target->mappings = t->mappings.items;
	target->mapping_count = t->mappings.count;
	target->shards = t->shards.items;
	target->shard_count = t->shards.count;
	target->rules = t->rules.rows.items;
	target->rule_count = t->rules.rows.count;
}

static uint16_t find_rule(const struct walk_tables *t, const struct unwind_mapping *m,
			  uint64_t addr)
{
	const struct walk_module *module = &t->modules.items[m->shard];
	const uint32_t *words = t->shards.items[m->shard].words;
	struct unwind_table table = {
		.start = module->table_start,
		.page_count = module->page_count,
		.index.items = (uint32_t *)words,
		.rows.items = (struct unwind_row *)(words + module->rows_at),
	};

	return unwind_table_find(&table, addr - m->bias);
}

const struct unwind_rule *walk_tables_rule(const struct walk_tables *t, uint64_t addr,
					   const struct unwind_mapping **mapping)
{
	vec_for_each(&t->mappings, const struct unwind_mapping *, m) {
		uint16_t rule = UNWIND_RULE_NONE;

		if (addr < m->start || addr >= m->end)
			continue;
		*mapping = m;
		if (m->flags & UNWIND_HAS_TABLE)
			rule = find_rule(t, m, addr);
		return &t->rules.rows.items[rule];
	}
	return NULL;
}
