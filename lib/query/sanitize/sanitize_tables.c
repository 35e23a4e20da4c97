/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/model/meaning/categories.h"
#include "lib/query/sanitize/internal.h"

#define NEW_MAP(map, table) ((map) = xcalloc((table).rows.count + 1, sizeof(*(map))))
#define MAPPED(map, id, none) ((id) == (none) ? (none) : (map)[id])

static void copy_categories(struct sanitizer *s)
{
	vec_for_each(&s->from->categories, const struct profile_category *, from) {
		struct profile_category row = {
			.name = sanitize_copy(s, from->name),
			.color = sanitize_copy(s, from->color),
		};

		vec_for_each(&from->subcategories, char *const *, name)
			vec_push(&row.subcategories, sanitize_copy(s, *name));
		vec_push(&s->into->categories, row);
	}
}

static module_id copy_module(struct sanitizer *s, const struct module *from)
{
	bool hides = sanitize_hides(s, from->name) && !module_is_kernel(from);
	string_id name = hides ? sanitize_name(s, from->name) : sanitize_path(s, from->name);
	string_id path = hides ? name : sanitize_path(s, from->path);
	module_id id = modules_copy(&s->into->modules, from, path, name);
	struct module *into = modules_get(&s->into->modules, id);

	if (hides || s->options->removes[SANITIZE_BUILD_IDS]) {
		s->counts->removed[SANITIZE_BUILD_IDS] += from->build_id_size != 0;
		memset(into->build_id, 0, sizeof(into->build_id));
		into->build_id_size = 0;
	}
	if (module_is_kernel(from))
		into->base = 0;
	vec_release(&into->sections);
	return id;
}

static source_file_id copy_file(struct sanitizer *s, const struct source_file *from)
{
	struct source_files *files = &s->into->source_files;
	source_file_id id = source_files_intern(files, sanitize_path(s, from->path));

	if (!from->text)
		return id;
	if (s->options->removes[SANITIZE_SOURCES])
		s->counts->removed[SANITIZE_SOURCES]++;
	else if (!files->rows.items[id].text)
		source_files_set_text(files, id, xmemdup(from->text, from->size), from->size);
	return id;
}

/*
 * "[futex]", "[preempted]": what the program says of waits. Other frames without code are spans,
 * which the recorded program has named.
 */
static bool is_wait(const char *name)
{
	size_t size = strspn(name + (*name == '['), "abcdefghijklmnopqrstuvwxyz0123456789_ ");

	return *name == '[' && size < 40 && strcmp(name + 1 + size, "]") == 0;
}

/* True for frames in no file, of no language, and outside of the categories of code. */
static bool is_told(const struct sanitizer *s, const struct frame *frame)
{
	const struct profile *p = s->from;
	const char *category = frame->category < p->categories.count
				       ? p->categories.items[frame->category].name
				       : NULL;
	const struct func *func;

	if (frame->func == NO_FUNC || frame->module != NO_MODULE ||
	    frame->language != LANGUAGE_NONE)
		return false;
	func = &p->funcs.rows.items[frame->func];
	if (!func->is_named || func->module != NO_MODULE || func->file != NO_SOURCE_FILE)
		return false;
	if (frame->kind == PROFILE_FRAME_LABEL)
		return !is_wait(strings_get(&p->strings, func->name)) ||
		       frame->category == CATEGORY_OTHER;
	return category && strcmp(category, "Other") == 0;
}

static bool is_kernel_func(const struct sanitizer *s, module_id module)
{
	return module != NO_MODULE && module_is_kernel(&s->from->modules.rows.items[module]);
}

/* Made-up names, those of the kernel, and labels tell nothing. */
static bool is_public_func(const struct sanitizer *s, func_id id)
{
	const struct func *func = &s->from->funcs.rows.items[id];

	return !func->is_named || (s->is_label && s->is_label[id]) ||
	       is_kernel_func(s, func->module);
}

bool sanitize_is_public_module(const struct profile *p, module_id module)
{
	const struct module *row = module == NO_MODULE ? NULL : &p->modules.rows.items[module];

	if (!row || row->kind == PROFILE_MODULE_KERNEL_DYNAMIC)
		return false;
	return module_is_kernel(row) ||
	       (row->path != NO_STRING &&
		scrub_is_public_path(strings_get(&p->strings, row->path),
				     strings_size(&p->strings, row->path)));
}

/* Paths may still be in there, names of users and machines are not. */
static string_id public_name(struct sanitizer *s, string_id id)
{
	bool users = s->scrubber.users, hosts = s->scrubber.hosts;

	s->scrubber.users = s->scrubber.hosts = false;
	id = sanitize_text(s, id);
	s->scrubber.users = users;
	s->scrubber.hosts = hosts;
	return id;
}

/* Asks the new module, whose path may have become "~/…". */
static string_id code_name(struct sanitizer *s, module_id module, string_id id)
{
	return sanitize_is_public_module(s->into, MAPPED(s->modules, module, NO_MODULE))
		       ? public_name(s, id)
		       : sanitize_text(s, id);
}

static func_id copy_func(struct sanitizer *s, func_id id)
{
	struct func row = s->from->funcs.rows.items[id];

	if (is_public_func(s, id)) {
		row.name = code_name(s, row.module, row.name);
	} else if (sanitize_hides(s, row.name)) {
		row.file = NO_SOURCE_FILE;
		row.line = row.column = 0;
		row.name = sanitize_name(s, row.name);
	} else {
		row.name = code_name(s, row.module, row.name);
	}
	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	row.file = MAPPED(s->files, row.file, NO_SOURCE_FILE);
	return funcs_intern(&s->into->funcs, &row);
}

static symbol_id copy_symbol(struct sanitizer *s, const struct symbol *from)
{
	struct symbol row = *from;

	row.name = is_kernel_func(s, from->module) || !sanitize_hides(s, from->name)
			   ? code_name(s, from->module, from->name)
			   : sanitize_name(s, from->name);
	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	return symbols_intern(&s->into->symbols, &row);
}

/* A file that only hidden functions name is left out. */
static void copy_files(struct sanitizer *s)
{
	const struct source_files *files = &s->from->source_files;
	bool *is_used = xcalloc(files->rows.count + 1, sizeof(*is_used));

	for (func_id id = 0; id < s->from->funcs.rows.count; id++) {
		const struct func *func = &s->from->funcs.rows.items[id];

		if (func->file != NO_SOURCE_FILE &&
		    (is_public_func(s, id) || !sanitize_hides(s, func->name)))
			is_used[func->file] = true;
	}
	for (size_t i = 0; i < files->rows.count; i++)
		s->files[i] = is_used[i] ? copy_file(s, &files->rows.items[i]) : NO_SOURCE_FILE;
	free(is_used);
}

static func_id span_func(struct sanitizer *s)
{
	const struct func row = {
		.name = strings_intern(&s->into->strings, "span"),
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};

	s->counts->unknown++;
	return funcs_intern(&s->into->funcs, &row);
}

/* A function that only spans have is left out. */
static void copy_funcs(struct sanitizer *s)
{
	const struct profile *from = s->from;
	bool *is_used = xcalloc(from->funcs.rows.count + 1, sizeof(*is_used));

	vec_for_each(&from->frames.rows, const struct frame *, frame) {
		if (frame->func != NO_FUNC && !is_told(s, frame))
			is_used[frame->func] = true;
	}
	for (func_id id = 0; id < from->funcs.rows.count; id++)
		s->funcs[id] = is_used[id] ? copy_func(s, id) : NO_FUNC;
	free(is_used);
}

static frame_id copy_frame(struct sanitizer *s, const struct frame *from)
{
	struct frame row = *from;

	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	row.func = is_told(s, from) ? span_func(s) : MAPPED(s->funcs, row.func, NO_FUNC);
	row.symbol = MAPPED(s->symbols, row.symbol, NO_SYMBOL);
	if (row.func != NO_FUNC && s->into->funcs.rows.items[row.func].file == NO_SOURCE_FILE)
		row.line = 0;
	return frames_intern(&s->into->frames, &row);
}

void sanitize_tables(struct sanitizer *s)
{
	const struct profile *from = s->from;

	NEW_MAP(s->modules, from->modules);
	NEW_MAP(s->files, from->source_files);
	NEW_MAP(s->funcs, from->funcs);
	NEW_MAP(s->symbols, from->symbols);
	NEW_MAP(s->frames, from->frames);
	NEW_MAP(s->stacks, from->stacks);
	copy_categories(s);
	for (size_t i = 0; i < from->modules.rows.count; i++)
		s->modules[i] = copy_module(s, &from->modules.rows.items[i]);
	copy_files(s);
	copy_funcs(s);
	for (size_t i = 0; i < from->symbols.rows.count; i++)
		s->symbols[i] = copy_symbol(s, &from->symbols.rows.items[i]);
	for (size_t i = 0; i < from->frames.rows.count; i++)
		s->frames[i] = copy_frame(s, &from->frames.rows.items[i]);
	for (size_t i = 0; i < from->stacks.rows.count; i++) {
		const struct stack *stack = &from->stacks.rows.items[i];

		s->stacks[i] = stacks_intern(&s->into->stacks,
					     MAPPED(s->stacks, stack->parent, NO_STACK),
					     s->frames[stack->frame]);
	}
}
