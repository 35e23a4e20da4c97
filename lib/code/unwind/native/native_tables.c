/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/native_tables.h"

void native_tables_init(struct native_tables *t, const struct native_tables_options *options)
{
	*t = (struct native_tables){.machine = options->machine};
	table_arena_init(&t->arena, options->shards, options->max_bytes);
	t->rules = rule_store_new(options->rules);
	module_tables_init(&t->modules, &t->arena, t->machine.page_size);
	jit_tables_init(&t->jit, &t->arena, &t->garbage, t->rules, t->machine.arch);
}

void native_tables_release(struct native_tables *t)
{
	jit_tables_release(&t->jit);
	module_tables_release(&t->modules);
	rule_store_free(t->rules);
	deferred_free_release(&t->garbage);
	table_arena_release(&t->arena);
}

void native_tables_describe(struct native_tables *t, const struct mapping_table *mappings,
			    const struct jit_code *code, uint32_t flags, struct native_space *space)
{
	struct unwind_mappings *out = &space->mappings;

	vec_clear(&out->rows);
	space->is_pending = false;
	space->is_32bit = mappings && module_tables_are_32bit(&t->modules, mappings);
	if (!mappings)
		return;
	vec_for_each(&mappings->rows, const struct mapping *, mapping)
		module_tables_describe(&t->modules, mapping, out);
	vec_for_each(&out->rows, const struct unwind_mapping *, m)
		space->is_pending |= m->flags & UNWIND_PENDING;
	jit_tables_describe(&t->jit, code, flags, out);
}

static void drop_table(struct native_tables *t, struct module_table *table, uint64_t now)
{
	vec_for_each(&table->chunks, const struct table_chunk *, chunk)
		deferred_free_add(&t->garbage, &chunk->piece, now);
	vec_clear(&table->chunks);
	table->state = TABLE_DROPPED;
	table->rows = 0;
}

void native_tables_evict(struct native_tables *t, uint64_t unused_ns, uint64_t now)
{
	vec_for_each(&t->modules.rows, struct module_table *, table) {
		if (table->state == TABLE_READY && !table->last_used_ns)
			table->last_used_ns = now;
		else if (table->state == TABLE_READY && now - table->last_used_ns > unused_ns)
			drop_table(t, table, now);
	}
}

bool native_tables_was_used(const struct native_tables *t, uint32_t module_id, uint64_t since_ns)
{
	const struct module_table *table;

	if (module_id >= t->modules.rows.count)
		return false;
	table = &t->modules.rows.items[module_id];
	return table->last_used_ns >= since_ns || table->state == TABLE_PENDING;
}

void native_tables_forget(struct native_tables *t, uint32_t module_id, uint64_t now)
{
	struct module_table *table;

	if (module_id >= t->modules.rows.count)
		return;
	table = &t->modules.rows.items[module_id];
	drop_table(t, table, now);
	table->state = TABLE_NONE;
	vec_release(&table->segments);
	vec_release(&table->chunks);
}

void native_tables_end_round(struct native_tables *t, uint64_t now)
{
	deferred_free_collect(&t->garbage, &t->arena, now);
	t->garbage.round++;
}
