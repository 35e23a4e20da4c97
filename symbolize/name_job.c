/* SPDX-License-Identifier: MIT */
#include "symbolize/name_job.h"

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "symbolize/kernel/kallsyms.h"
#include "symbolize/module_files.h"

/* Addresses between two looks at whether to stop. */
#define BATCH 256
#define MAX_SYMBOLIZERS 4

/* In the order of asking. */
static const struct symbolizer_ops *const for_files[] = {
	&symbolizer_elf, &symbolizer_dwarf, &symbolizer_go, &symbolizer_fde, NULL,
};
static const struct symbolizer_ops *const for_kernel[] = {
	&symbolizer_kernel,
	&symbolizer_dwarf,
	NULL,
};
/* If the kernel that loaded a module cannot be asked, the module's file can. */
static const struct symbolizer_ops *const for_kernel_modules[] = {
	&symbolizer_kernel,
	&symbolizer_elf,
	&symbolizer_dwarf,
	NULL,
};
static const struct symbolizer_ops *const for_nothing[] = {NULL};

static const struct symbolizer_ops *const *symbolizers_for(const struct module *module)
{
	if (module && module->kind == PROFILE_MODULE_KERNEL_MODULE)
		return for_kernel_modules;
	if (!module || module_is_kernel(module))
		return for_kernel;
	if (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_VDSO)
		return for_files;
	return for_nothing;
}

static const struct kernel_table *kernel_list_get(struct kernel_list *list)
{
	struct error err = {0};

	if (list->given)
		return list->given;
	pthread_mutex_lock(&list->lock);
	if (!list->was_read && list->fd >= 0 && kallsyms_read(&list->table, list->fd, &err) != 0)
		log_debug("kernel symbols: %s", err.text);
	list->was_read = true;
	pthread_mutex_unlock(&list->lock);
	return list->table;
}

void kernel_list_release(struct kernel_list *list)
{
	kernel_table_free(list->table);
	pthread_mutex_destroy(&list->lock);
}

/* Places with the same address. */
struct group {
	size_t first, count;
};

struct groups {
	VEC(struct group) rows;
	VEC(uint64_t) rvas; /* the address of each */
};

static size_t open_symbolizers(const struct name_task *task, const struct groups *groups,
			       struct symbolizer **symbolizers)
{
	const struct symbolizer_ops *const *all = symbolizers_for(task->input.module), *const * ops;
	struct symbolizer_input input = task->input;
	size_t count = 0;

	if (!input.rvas) {
		input.rvas = groups->rvas.items;
		input.rva_count = groups->rvas.count;
	}
	if (all == for_kernel || all == for_kernel_modules)
		input.kernel_symbols = kernel_list_get(task->kernel);
	for (ops = all; *ops && count < MAX_SYMBOLIZERS; ops++) {
		struct error err = {0};
		int ret;

		if (all == for_kernel_modules && *ops == &symbolizer_elf && count)
			continue;
		ret = (*ops)->open(&symbolizers[count], &input, &err);

		if (ret == 0)
			count++;
		else
			log_debug("%s: %s: %s", input.path, (*ops)->name, err.text);
		if (ret == 0 && *ops == &symbolizer_elf)
			input.has_symbols = true;
	}
	symbolizers[count] = NULL;
	return count;
}

/* Collects the addresses that no earlier profile has named; the names of the others are added. */
static void find_new(const struct name_task *task, uint64_t module, struct groups *groups,
		     struct answers *names)
{
	for (size_t next = 0, first; next < task->count;) {
		struct answer answer = {0};
		uint64_t rva = task->places[next].rva;

		for (first = next; next < task->count && task->places[next].rva == rva;)
			next++;
		if (module && name_cache_find(task->cache, module, rva, &answer)) {
			answers_add(names, &answer, first, next - first);
			continue;
		}
		vec_push(&groups->rows, (struct group){first, next - first});
		vec_push(&groups->rvas, rva);
	}
}

static void name_batch(const struct name_task *task, uint64_t module,
		       struct symbolizer *const *symbolizers, const struct group *groups,
		       const uint64_t *rvas, size_t count, struct answers *names)
{
	struct answer answers[BATCH] = {0};

	for (; *symbolizers; symbolizers++)
		(*symbolizers)->ops->lookup(*symbolizers, rvas, count, answers);
	for (size_t i = 0; i < count; i++) {
		answers_add(names, &answers[i], groups[i].first, groups[i].count);
		if (module)
			name_cache_add(task->cache, module, rvas[i], &answers[i]);
	}
}

static void note_outcome(const struct name_task *task, size_t symbolizers, struct answers *names)
{
	const struct module *module = task->input.module;
	const char *path = module_files_debug_path(task->input.files);

	if (!module)
		return;
	/* Maps of names, if any, were used already. */
	if (module->kind == PROFILE_MODULE_CODE_DUMP)
		names->reason = SYMBOLS_FOUND;
	else if (module->kind == PROFILE_MODULE_ANON)
		names->reason = module->reason == SYMBOLS_FOUND ? SYMBOLS_FOUND
								: SYMBOLS_NO_CODE_MAP;
	/* No file knows more about code that the kernel generated. */
	else if (module->kind == PROFILE_MODULE_KERNEL_DYNAMIC && symbolizers)
		names->reason = SYMBOLS_FOUND;
	else if (module_is_kernel(module) && !symbolizers)
		names->reason = module->reason ? module->reason : SYMBOLS_KERNEL_HIDDEN;
	else
		names->reason = module_files_reason(task->input.files);
	names->debug_path = path ? xstrdup(path) : NULL;
}

/* Takes the outcome of an earlier profile, if all names are from there. */
static bool take_outcome(const struct name_task *task, uint64_t module, struct answers *names)
{
	const char *path;

	if (!module || !name_cache_find_outcome(task->cache, module, &names->reason, &path))
		return false;
	names->debug_path = path ? xstrdup(path) : NULL;
	return true;
}

void name_places(const struct name_task *task, struct answers *names)
{
	struct symbolizer *symbolizers[MAX_SYMBOLIZERS + 1] = {NULL};
	uint64_t module = task->cache ? name_cache_module(&task->input) : 0;
	struct groups groups = {0};
	size_t count = 0;

	find_new(task, module, &groups, names);
	if (groups.rows.count || !take_outcome(task, module, names)) {
		count = open_symbolizers(task, &groups, symbolizers);
		for (size_t at = 0; count && at < groups.rows.count; at += BATCH) {
			size_t left = groups.rows.count - at;

			if (task->should_stop(task->ctx))
				break;
			name_batch(task, module, symbolizers, groups.rows.items + at,
				   groups.rvas.items + at, left < BATCH ? left : BATCH, names);
		}
		answers_seal(names);
		/* Note the outcome last: some failures show only in lookups. */
		note_outcome(task, count, names);
		if (module && count)
			name_cache_add_outcome(task->cache, module, names->reason,
					       names->debug_path);
	} else {
		answers_seal(names);
	}
	vec_release(&groups.rows);
	vec_release(&groups.rvas);
	for (struct symbolizer **s = symbolizers; *s; s++)
		(*s)->ops->free(*s);
}
