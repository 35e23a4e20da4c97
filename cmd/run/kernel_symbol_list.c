/* SPDX-License-Identifier: MIT */
#include "cmd/run/kernel_symbol_list.h"

#include <stdlib.h>

#include "lib/base/vec.h"

struct addresses {
	VEC(uint64_t) rows;
};

static bool kernel_address(struct profile *p, const struct frame *frame, uint64_t *addr)
{
	const struct module *module;

	*addr = frame->offset;
	if (frame->module == NO_MODULE)
		return frame->kind == PROFILE_FRAME_KERNEL;
	module = modules_get(&p->modules, frame->module);
	*addr += module->base;
	/* Loaded modules report their own symbols as soon as they occur. */
	return module_is_kernel(module) && !module_find_symbol(module, frame->offset);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void collect(struct profile *p, struct addresses *addresses)
{
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		uint64_t addr;

		if (kernel_address(p, frames_get(&p->frames, (frame_id)i), &addr))
			vec_push(&addresses->rows, addr);
	}
	if (addresses->rows.count)
		vec_sort(&addresses->rows, compare);
}

/* The kernel tells no address of its image if it hides symbols: the owner's wish. */
static bool is_hidden(struct profile *p)
{
	for (size_t i = 0; i < p->modules.rows.count; i++) {
		if (modules_get(&p->modules, (module_id)i)->kind == PROFILE_MODULE_KERNEL)
			return false;
	}
	return true;
}

static void add(void *ctx, const struct kernel_symbol_text *symbol)
{
	kernel_table_add(ctx, symbol->start, symbol->size, symbol->name, symbol->name_size,
			 symbol->module);
}

struct kernel_table *kernel_symbol_list_collect(struct profile *p, struct recorder *recorder)
{
	struct kernel_table *table;
	struct addresses addresses = {0};

	if (is_hidden(p))
		return NULL;
	table = kernel_table_new();
	collect(p, &addresses);
	if (!recorder_find_symbols(recorder, addresses.rows.items, addresses.rows.count, add,
				   table) ||
	    !table->rows.count) {
		kernel_table_free(table);
		table = NULL;
	} else {
		kernel_table_seal(table);
	}
	vec_release(&addresses.rows);
	return table;
}
