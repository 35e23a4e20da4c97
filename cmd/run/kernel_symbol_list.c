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
	/* Modules say what they are called when they occur. */
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

/* Either kind holds the whole list; the first one is read, for all. */
static const struct module *find_list(struct profile *p)
{
	const struct module *found = NULL;
	bool is_hidden = true;

	for (size_t i = 0; i < p->modules.rows.count; i++) {
		const struct module *module = modules_get(&p->modules, (module_id)i);

		is_hidden = is_hidden && module->kind != PROFILE_MODULE_KERNEL;
		if ((module->kind == PROFILE_MODULE_KERNEL ||
		     module->kind == PROFILE_MODULE_KERNEL_DYNAMIC) &&
		    module->file_key != UINT32_MAX && !found)
			found = module;
	}
	/* Where the image is, is not told where names are hidden: that is the owner's wish. */
	return is_hidden ? NULL : found;
}

void kernel_symbol_list_collect(struct profile *p, struct recorder *recorder)
{
	const struct module *list = find_list(p);
	struct addresses addresses = {0};
	int fd;

	if (!list)
		return;
	collect(p, &addresses);
	fd = recorder_list_symbols(recorder, addresses.rows.items, addresses.rows.count);
	vec_release(&addresses.rows);
	if (fd >= 0)
		file_set_add(recorder_source(recorder)->files, list->file_key, fd);
}
