/* SPDX-License-Identifier: MIT */
#include "lib/unwind/native/native_tables.h"

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

void native_tables_end_round(struct native_tables *t, uint64_t now)
{
	deferred_free_collect(&t->garbage, &t->arena, now);
	t->garbage.round++;
}
