/* SPDX-License-Identifier: MIT */
#include "tests/unit/stack_texts.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/categories.h"
#include "tests/unit/test.h"

static module_id add_module(struct profile *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	string_id id = strings_intern(&p->strings, path);

	for (module_id at = 0; at < p->modules.rows.count; at++) {
		if (p->modules.rows.items[at].path == id)
			return at;
	}
	return modules_add(&p->modules, *path == '[' ? PROFILE_MODULE_KERNEL : PROFILE_MODULE_FILE,
			   id, strings_intern(&p->strings, slash ? slash + 1 : path));
}

/* "NAME MODULE FILE"; "-" for a module or file that is not known. */
static func_id add_func(struct profile *p, const char *text)
{
	struct func func = {.module = NO_MODULE, .file = NO_SOURCE_FILE};
	char name[64], module[64], file[64];

	assert_int_equal(sscanf(text, "%63s %63s %63[^\n]", name, module, file), 3);
	func.name = strings_intern(&p->strings, name);
	func.is_named = strncmp(name, "fun_", 4) != 0;
	if (strcmp(module, "-") != 0)
		func.module = add_module(p, module);
	if (strcmp(file, "-") != 0)
		func.file = source_files_intern(&p->source_files,
						strings_intern(&p->strings, file));
	return funcs_intern(&p->funcs, &func);
}

frame_id stack_texts_add_frame(struct profile *p, const char *text)
{
	func_id func = add_func(p, text);
	const struct func *row = &p->funcs.rows.items[func];
	struct symbol symbol = {.module = row->module, .name = row->name, .rva = func};
	struct frame frame = {
		.func = func,
		.module = row->module,
		.offset = func,
		.symbol = row->module == NO_MODULE ? NO_SYMBOL
						   : symbols_intern(&p->symbols, &symbol),
		.line = 100 + func,
	};

	return frames_intern(&p->frames, &frame);
}

void stack_texts_add_thread(struct profile *p, const char *name)
{
	uint32_t id = 1 + (uint32_t)p->threads.rows.count;

	threads_add(&p->threads, &(struct profile_thread){.pid = id,
							  .tid = id,
							  .is_main = true,
							  .name = strings_intern(&p->strings, name),
							  .process_name = NO_STRING,
							  .process_label = NO_STRING,
							  .arguments = NO_STRING});
}

/* Functions as for add_func(), each in a line of its own, the outermost first. */
static stack_id add_stack(struct profile *p, const char *text)
{
	_cleanup_free_ char *lines = xstrdup(text);
	stack_id stack = NO_STACK;

	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
		stack = stacks_intern(&p->stacks, stack, stack_texts_add_frame(p, line));
	return stack;
}

void stack_texts_add_sample(struct profile *p, uint32_t weight, const char *text)
{
	if (!p->threads.rows.count)
		stack_texts_add_thread(p, "thread");
	samples_add(
		&vec_last(&p->threads.rows).samples,
		&(struct sample){
			.time = 1, .stack = add_stack(p, text), .weight = weight, .cpu = NO_CPU});
}

void stack_texts_add_call(struct profile *p, uint32_t weight, const char *text, const char *call,
			  uint8_t subcategory)
{
	struct frame label = {
		.func = add_func(p, call),
		.module = NO_MODULE,
		.symbol = NO_SYMBOL,
		.kind = PROFILE_FRAME_LABEL,
		.category = CATEGORY_IDLE,
		.subcategory = subcategory,
	};
	stack_id stack = stacks_intern(&p->stacks, add_stack(p, text),
				       frames_intern(&p->frames, &label));

	samples_add(&vec_last(&p->threads.rows).samples,
		    &(struct sample){.time = 2, .stack = stack, .weight = weight, .cpu = NO_CPU});
}
