/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolize.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/profile/expand.h"
#include "symbolize/demangle.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolizer.h"

/* Addresses between two looks at whether to stop. */
#define BATCH 256
#define MAX_SYMBOLIZERS 4
/* Damaged files can make each of many names as long as they are themselves. */
#define MAX_TEXT 16384

/* In the order in which they are asked. */
static const struct symbolizer_ops *const for_files[] = {
	&symbolizer_elf,
	&symbolizer_dwarf,
	NULL,
};
static const struct symbolizer_ops *const for_kernel[] = {&symbolizer_kallsyms, NULL};
static const struct symbolizer_ops *const for_nothing[] = {NULL};

/* Where a frame lies in its module. */
struct place {
	uint64_t rva;
	frame_id frame;
};

/* The places of all modules, one module after the other; the last group lies in no module. */
struct places {
	struct place *rows;
	size_t *ends; /* by module */
	size_t group_count;
};

struct known_text {
	const char *text; /* a symbolizer's */
	string_id id;
};

/* Symbolizers give the same pointer for the same text: it is demangled and interned once. */
struct text_cache {
	VEC(struct known_text) rows;
	struct index index;
};

struct namer {
	struct profile *profile;
	const struct symbolize_options *options;
	struct expand *expand;
	struct kallsyms *kallsyms;
	struct text_cache funcs, files; /* of the module at hand */
	struct strbuf readable;
	VEC(struct frame_name) chain;
	size_t groups_done, group_count; /* modules with frames */
	bool is_stopped;
};

static bool equal_text(const void *table, uint32_t id, const void *key)
{
	const struct text_cache *cache = table;

	return cache->rows.items[id].text == key;
}

static string_id *text_cache_at(struct text_cache *cache, const char *text, bool *is_new)
{
	uint64_t hash = hash_u64((uintptr_t)text);
	uint32_t row = index_find(&cache->index, hash, equal_text, cache, text);

	*is_new = row == INDEX_NONE;
	if (*is_new) {
		row = (uint32_t)cache->rows.count;
		vec_push(&cache->rows, (struct known_text){.text = text});
		index_add(&cache->index, hash, row);
	}
	return &cache->rows.items[row].id;
}

static void text_cache_release(struct text_cache *cache)
{
	vec_release(&cache->rows);
	index_release(&cache->index);
}

static string_id func_string(struct namer *n, const char *name)
{
	string_id *id;
	bool is_new;

	if (!name)
		return NO_STRING;
	id = text_cache_at(&n->funcs, name, &is_new);
	if (is_new && demangle(name, &n->readable))
		*id = strings_intern_sized(&n->profile->strings, n->readable.text,
					   n->readable.size);
	else if (is_new)
		*id = strings_intern_sized(&n->profile->strings, name, strnlen(name, MAX_TEXT));
	return *id;
}

static string_id file_string(struct namer *n, const char *path)
{
	string_id *id;
	bool is_new;

	if (!path)
		return NO_STRING;
	id = text_cache_at(&n->files, path, &is_new);
	if (is_new)
		*id = strings_intern_sized(&n->profile->strings, path, strnlen(path, MAX_TEXT));
	return *id;
}

/* The physical function goes by its symbol, which tells clones apart; DWARF knows the inner ones.
 */
static void build_chain(struct namer *n, const struct answer *answer)
{
	vec_clear(&n->chain);
	for (size_t i = 0; i < answer->depth; i++) {
		const struct location *at = &answer->chain[i];

		vec_push(&n->chain, (struct frame_name){
					    .func = func_string(n, at->func),
					    .file = file_string(n, at->file),
					    .line = at->line,
					    .is_named = at->func,
				    });
	}
	if (!answer->func)
		return;
	if (!answer->depth)
		vec_push(&n->chain, (struct frame_name){.file = NO_STRING});
	n->chain.items[0].func = func_string(n, answer->func);
	n->chain.items[0].is_named = !answer->is_made_up;
}

static void apply(struct namer *n, module_id module, const struct answer *answer,
		  const struct place *places, size_t count)
{
	symbol_id symbol = NO_SYMBOL;

	build_chain(n, answer);
	if (!n->chain.count)
		return;
	if (answer->func && module != NO_MODULE)
		symbol = symbols_intern(&n->profile->symbols,
					&(struct symbol){
						.module = module,
						.name = n->chain.items[0].func,
						.rva = answer->func_start,
						.size = answer->func_size,
					});
	for (size_t i = 0; i < count; i++)
		expand_answer(n->expand, places[i].frame, symbol, n->chain.items, n->chain.count);
}

static bool should_stop(struct namer *n)
{
	const struct symbolize_options *options = n->options;

	if (!n->is_stopped && options->progress)
		n->is_stopped = options->progress(options->ctx, n->groups_done, n->group_count);
	return n->is_stopped;
}

/* Takes as many places as fit into one batch of distinct addresses; returns how many. */
static size_t name_batch(struct namer *n, module_id module, struct symbolizer *const *symbolizers,
			 const struct place *places, size_t count)
{
	struct answer answers[BATCH] = {0};
	uint64_t rvas[BATCH];
	size_t firsts[BATCH + 1];
	size_t taken = 0, distinct = 0;

	for (; taken < count; taken++) {
		if (distinct && places[taken].rva == rvas[distinct - 1])
			continue;
		if (distinct == BATCH)
			break;
		firsts[distinct] = taken;
		rvas[distinct++] = places[taken].rva;
	}
	firsts[distinct] = taken;
	for (; *symbolizers; symbolizers++)
		(*symbolizers)->ops->lookup(*symbolizers, rvas, distinct, answers);
	for (size_t i = 0; i < distinct; i++)
		apply(n, module, &answers[i], places + firsts[i], firsts[i + 1] - firsts[i]);
	return taken;
}

static const struct symbolizer_ops *const *symbolizers_for(const struct module *module)
{
	if (!module || module_is_kernel(module))
		return for_kernel;
	if (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_VDSO)
		return for_files;
	return for_nothing;
}

/* What the last and best of a module's symbolizers says when it is opened. */
static enum symbol_reason reason_of(const struct symbolizer_input *input, int result)
{
	const struct module *module = input->module;

	if (module->kind == PROFILE_MODULE_ANON)
		return SYMBOLS_NO_CODE_MAP;
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

static size_t open_symbolizers(struct namer *n, struct module *module, const char *path,
			       struct symbolizer **symbolizers)
{
	struct file_set *files = n->options->files;
	struct symbolizer_input input = {
		.module = module,
		.path = path,
		.fd = -1,
		.debug_dirs = n->options->debug_dirs,
		.kallsyms = n->kallsyms,
	};
	const struct symbolizer_ops *const *ops = symbolizers_for(module);
	size_t count = 0;
	int result = -ENOENT;

	if (module && files && module->file_key != UINT32_MAX)
		input.fd = file_set_find(files, module->file_key);
	for (; *ops && count < MAX_SYMBOLIZERS; ops++) {
		struct error err = {0};

		result = (*ops)->open(&symbolizers[count], &input, &err);
		if (result == 0)
			count++;
		else
			log_debug("%s: %s: %s", input.path, (*ops)->name, err.text);
	}
	symbolizers[count] = NULL;
	if (module)
		module->reason = reason_of(&input, result);
	return count;
}

static void name_module(struct namer *n, module_id id, const struct place *places, size_t count)
{
	struct module *module = id == NO_MODULE ? NULL : modules_get(&n->profile->modules, id);
	/* A copy, because strings move while others are interned. */
	_cleanup_free_ char *path = xstrdup(module ? strings_get(&n->profile->strings, module->path)
						   : "[kernel]");
	struct symbolizer *symbolizers[MAX_SYMBOLIZERS + 1];

	if (open_symbolizers(n, module, path, symbolizers)) {
		while (count && !should_stop(n)) {
			size_t taken = name_batch(n, id, symbolizers, places, count);

			places += taken;
			count -= taken;
		}
	}
	for (struct symbolizer **s = symbolizers; *s; s++)
		(*s)->ops->free(*s);
	text_cache_release(&n->funcs);
	text_cache_release(&n->files);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->rva != y->rva)
		return x->rva < y->rva ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Which group a frame belongs to and where it lies; false where nobody could name it. */
static bool place_frame(struct profile *p, const struct frame *frame, size_t *group, uint64_t *rva)
{
	if (frame->module != NO_MODULE) {
		*group = frame->module;
		return module_offset_to_rva(modules_get(&p->modules, frame->module), frame->offset,
					    rva);
	}
	*group = p->modules.rows.count;
	*rva = frame->offset;
	return frame->kind == PROFILE_FRAME_KERNEL;
}

static void places_collect(struct places *places, struct profile *p)
{
	size_t frame_count = p->frames.rows.count, group, total = 0;
	uint64_t rva;

	places->group_count = p->modules.rows.count + 1;
	places->ends = xcalloc(places->group_count, sizeof(*places->ends));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			places->ends[group]++;
	}
	/* Counts become starts, and starts become ends as the rows are filled in. */
	for (size_t i = 0; i < places->group_count; i++) {
		size_t count = places->ends[i];

		places->ends[i] = total;
		total += count;
	}
	places->rows = xcalloc(total + 1, sizeof(*places->rows));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			places->rows[places->ends[group]++] = (struct place){rva, (frame_id)i};
	}
}

static void places_release(struct places *places)
{
	free(places->rows);
	free(places->ends);
}

/* The recorder files the kernel's list under one of the modules that need it. */
static void read_kallsyms(struct namer *n)
{
	struct file_set *files = n->options->files;

	for (size_t i = 0; files && i < n->profile->modules.rows.count && !n->kallsyms; i++) {
		const struct module *module = modules_get(&n->profile->modules, (module_id)i);
		struct error err = {0};
		int fd = -1;

		if (module->kind != PROFILE_MODULE_KERNEL &&
		    module->kind != PROFILE_MODULE_KERNEL_DYNAMIC)
			continue;
		if (module->file_key != UINT32_MAX)
			fd = file_set_find(files, module->file_key);
		if (fd >= 0 && kallsyms_read(&n->kallsyms, fd, &err) != 0)
			log_debug("kernel symbols: %s", err.text);
	}
}

static bool group_is_kernel(struct namer *n, size_t group)
{
	return group == n->profile->modules.rows.count ||
	       module_is_kernel(modules_get(&n->profile->modules, (module_id)group));
}

static void name_groups(struct namer *n, const struct places *places)
{
	bool has_kallsyms = false;
	size_t start = 0;

	for (size_t i = 0; i < places->group_count; start = places->ends[i++])
		n->group_count += places->ends[i] > start;
	start = 0;
	for (size_t i = 0; i < places->group_count && !should_stop(n); start = places->ends[i++]) {
		size_t count = places->ends[i] - start;

		if (!count)
			continue;
		qsort(places->rows + start, count, sizeof(*places->rows), compare_places);
		if (!has_kallsyms && group_is_kernel(n, i)) {
			read_kallsyms(n);
			has_kallsyms = true;
		}
		name_module(n, i + 1 < places->group_count ? (module_id)i : NO_MODULE,
			    places->rows + start, count);
		n->groups_done++;
	}
}

void symbolize_profile(struct profile *p, const struct symbolize_options *options)
{
	struct namer n = {.profile = p, .options = options, .expand = expand_new(p)};
	struct places places = {0};

	places_collect(&places, p);
	name_groups(&n, &places);
	/* Also after a stop: what is named so far stays. */
	expand_apply(n.expand);
	p->meta.symbolicated = !n.is_stopped;
	expand_free(n.expand);
	places_release(&places);
	kallsyms_free(n.kallsyms);
	strbuf_release(&n.readable);
	vec_release(&n.chain);
}
