/* SPDX-License-Identifier: MIT */
#include "symbolize/namer.h"

#include <errno.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "symbolize/kallsyms.h"

/* Addresses between two looks at whether to stop. */
#define BATCH 256
#define MAX_SYMBOLIZERS 4

/* In the order in which they are asked. */
static const struct symbolizer_ops *const for_files[] = {
	&symbolizer_elf,
	&symbolizer_dwarf,
	&symbolizer_fde,
	NULL,
};
static const struct symbolizer_ops *const for_kernel[] = {&symbolizer_kallsyms, NULL};
static const struct symbolizer_ops *const for_nothing[] = {NULL};

static const struct symbolizer_ops *const *symbolizers_for(const struct module *module)
{
	if (!module || module_is_kernel(module))
		return for_kernel;
	if (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_VDSO)
		return for_files;
	return for_nothing;
}

static const struct kallsyms *kernel_list_get(struct kernel_list *list)
{
	struct error err = {0};

	pthread_mutex_lock(&list->lock);
	if (!list->was_read && list->fd >= 0 && kallsyms_read(&list->table, list->fd, &err) != 0)
		log_debug("kernel symbols: %s", err.text);
	list->was_read = true;
	pthread_mutex_unlock(&list->lock);
	return list->table;
}

void kernel_list_release(struct kernel_list *list)
{
	kallsyms_free(list->table);
	pthread_mutex_destroy(&list->lock);
}

/* What the last and best of a module's symbolizers says when it is opened. */
static enum symbol_reason reason_of(const struct symbolizer_input *input, int result)
{
	const struct module *module = input->module;

	/* What there was of maps has been used already. */
	if (module->kind == PROFILE_MODULE_ANON)
		return module->reason == SYMBOLS_FOUND ? SYMBOLS_FOUND : SYMBOLS_NO_CODE_MAP;
	/* No file can say more of code that the kernel made. */
	if (result == 0 && module->kind == PROFILE_MODULE_KERNEL_DYNAMIC)
		return SYMBOLS_FOUND;
	if (result == 0 && module_is_kernel(module))
		return SYMBOLS_KERNEL_NO_DEBUG_FILE;
	if (module_is_kernel(module))
		return SYMBOLS_KERNEL_HIDDEN;
	if (result == 0)
		return SYMBOLS_FOUND;
	if (result == -EFBIG)
		return SYMBOLS_TOO_LARGE;
	if (input->fd < 0)
		return text_ends_with(input->path, " (deleted)") ? SYMBOLS_DELETED
								 : SYMBOLS_UNREADABLE;
	return module->build_id_size ? SYMBOLS_NO_DEBUG_FILE : SYMBOLS_STRIPPED;
}

static size_t open_symbolizers(const struct name_task *task, struct symbolizer **symbolizers,
			       struct names *names)
{
	const struct symbolizer_ops *const *ops = symbolizers_for(task->input.module);
	struct symbolizer_input input = task->input;
	size_t count = 0;
	int result = -ENOENT;

	if (ops == for_kernel)
		input.kallsyms = kernel_list_get(task->kernel);
	for (; *ops && count < MAX_SYMBOLIZERS; ops++) {
		struct error err = {0};

		int ret = (*ops)->open(&symbolizers[count], &input, &err);

		if (ret == 0)
			count++;
		else
			log_debug("%s: %s: %s", input.path, (*ops)->name, err.text);
		if (ret == 0 && *ops == &symbolizer_elf)
			input.has_symbols = true;
		/* It has no names. */
		if (*ops != &symbolizer_fde)
			result = ret;
	}
	symbolizers[count] = NULL;
	if (input.module)
		names->reason = reason_of(&input, result);
	return count;
}

/*
 * Takes as many places, from `start` on, as fit into one batch of distinct addresses; returns where
 * the next batch starts.
 */
static size_t name_batch(const struct name_task *task, struct symbolizer *const *symbolizers,
			 size_t start, struct names *names)
{
	struct answer answers[BATCH] = {0};
	uint64_t rvas[BATCH];
	size_t firsts[BATCH + 1];
	size_t next = start, distinct = 0;

	for (; next < task->count; next++) {
		if (distinct && task->places[next].rva == rvas[distinct - 1])
			continue;
		if (distinct == BATCH)
			break;
		firsts[distinct] = next;
		rvas[distinct++] = task->places[next].rva;
	}
	firsts[distinct] = next;
	for (; *symbolizers; symbolizers++)
		(*symbolizers)->ops->lookup(*symbolizers, rvas, distinct, answers);
	for (size_t i = 0; i < distinct; i++)
		names_add(names, &answers[i], firsts[i], firsts[i + 1] - firsts[i]);
	return next;
}

void name_places(const struct name_task *task, struct names *names)
{
	struct symbolizer *symbolizers[MAX_SYMBOLIZERS + 1];
	size_t next = 0;

	if (open_symbolizers(task, symbolizers, names)) {
		while (next < task->count && !task->should_stop(task->ctx))
			next = name_batch(task, symbolizers, next, names);
	}
	names_seal(names);
	for (struct symbolizer **s = symbolizers; *s; s++)
		(*s)->ops->free(*s);
}
