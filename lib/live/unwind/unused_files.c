/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/unused_files.h"

struct forgetting {
	struct native_tables *tables;
	uint64_t now;
};

static bool is_used(void *ctx, uint32_t module_id, uint64_t since_ns)
{
	const struct forgetting *f = ctx;

	return native_tables_was_used(f->tables, module_id, since_ns);
}

static void forget(void *ctx, uint32_t module_id)
{
	const struct forgetting *f = ctx;

	native_tables_forget(f->tables, module_id, f->now);
}

void unused_files_forget(const struct spaces *spaces, struct native_tables *tables,
			 struct module_registry *files, uint64_t since_ns, uint64_t now)
{
	struct forgetting f = {tables, now};
	const struct module_users users = {is_used, forget, &f};

	spaces_use_tables(spaces, &tables->modules, now);
	module_registry_forget(files, since_ns, now, &users);
}
