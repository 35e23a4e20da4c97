/* SPDX-License-Identifier: MIT */
#include "cmd/text/assembly.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/recording/workplace/code_fetch.h"
#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/lookup.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/query/code_places.h"
#include "symbolize/kernel/patched_code.h"

/* Descriptors that are not for modules. */
#define RESERVED_FILES 64

/* Returns the function in that place; NO_SYMBOL: the profile has none there. */
static symbol_id find_symbol(const struct profile *p, module_id module, uint64_t rva)
{
	for (symbol_id id = 0; id < p->symbols.rows.count; id++) {
		const struct symbol *row = &p->symbols.rows.items[id];

		if (row->module == module && rva >= row->rva &&
		    (rva == row->rva || rva - row->rva < row->size))
			return id;
	}
	return NO_SYMBOL;
}

/*
 * Appends "<main+0x12>" to a jump within the function, and to calls of others with samples, and how
 * the kernel changes the instruction.
 */
static char *full_text(const struct profile *p, const struct assembly_function *f,
		       const struct instruction *row, uint64_t size,
		       const struct patched_code *patched)
{
	uint64_t address = row->target != NO_TARGET ? row->target : row->data, start = f->address;
	const struct symbol *symbol = &p->symbols.rows.items[f->symbol];
	uint64_t rva = symbol->rva + row->offset;
	symbol_id function = f->symbol;
	const char *name = NULL;

	if (address == NO_TARGET || address < start || address - start >= size)
		function = address == NO_TARGET || start != symbol->rva
				   ? NO_SYMBOL
				   : find_symbol(p, symbol->module, address);
	if (function != NO_SYMBOL) {
		symbol = &p->symbols.rows.items[function];
		start = function == f->symbol ? start : symbol->rva;
		name = strings_get(&p->strings, symbol->name);
	}
	return instruction_text(
		row, name, start,
		patched_code_find(patched, rva, row->size, row->target == NO_TARGET ? NULL : name));
}

/* A sample within an instruction, as a call that has not returned, counts for it. */
static void add_rows(struct assembly_function *f, const struct profile *p,
		     const struct code_places *places, const struct disassembly *d,
		     const struct patched_code *patched)
{
	const struct symbol *symbol = &p->symbols.rows.items[f->symbol];
	uint64_t size = d->rows.count ? vec_last(&d->rows).offset + vec_last(&d->rows).size : 0;
	size_t next = 0;

	vec_for_each(&d->rows, const struct instruction *, from) {
		struct assembly_row row = {
			.address = f->address + from->offset,
			.text = full_text(p, f, from, size, patched),
		};
		uint64_t end = symbol->rva + from->offset + from->size;

		while (next < places->list.count && places->list.items[next].rva < end) {
			row.self += places->list.items[next].self;
			row.total += places->list.items[next++].total;
		}
		vec_push(&f->rows, row);
	}
}

static int disassemble_function(struct assembly_function *f, const struct profile *p,
				const struct code_places *places, const struct file_set *files,
				struct error *err)
{
	const struct symbol *symbol = &p->symbols.rows.items[f->symbol];
	const struct module *module = &p->modules.rows.items[symbol->module];
	struct patched_code patched = {0};
	struct function_code code;
	struct disassembly d;
	int ret = function_code_read(&code, module, strings_get(&p->strings, module->name), files,
				     symbol->rva, code_places_size(places, p), err);

	if (ret)
		return ret;
	f->address = code.address;
	ret = disassemble(&d, code.machine, code.bytes, code.size, code.address, err);
	if (f->is_kernel)
		patched_code_read(&patched, file_set_find(files, module->file_key));
	if (!ret)
		add_rows(f, p, places, &d, &patched);
	patched_code_release(&patched);
	disassembly_release(&d);
	free(code.bytes);
	return ret;
}

/* Asks servers for what is not here. */
static void fetch_file(struct profile *p, module_id id, struct file_set *files,
		       const struct identity *owner)
{
	struct module *module = modules_get(&p->modules, id);
	int fd = module->file_key == UINT32_MAX ? code_fetch(module, owner) : -1;

	if (fd < 0)
		return;
	module->file_key = id;
	module->kind = PROFILE_MODULE_FILE;
	file_set_add(files, id, fd);
}

/* Call it before files are looked for: a vmlinux that is found is an ordinary file from then on. */
static void take_functions(struct assembly *a, const struct profile *p,
			   const struct code_functions *found)
{
	vec_for_each(&found->list, const struct code_places *, places) {
		module_id module = p->symbols.rows.items[places->symbol].module;
		const struct assembly_function row = {
			.symbol = places->symbol,
			.is_kernel = module_is_kernel(&p->modules.rows.items[module]),
			.total = places->total,
		};

		vec_push(&a->functions, row);
	}
}

static int show(struct assembly *a, struct profile *p, const struct code_functions *found,
		const char *const *dirs, const struct identity *owner, struct error *err)
{
	const struct lookup lookup = {.profile = p, .dirs = dirs};
	struct file_set *files = lookup_files(&lookup, RESERVED_FILES);
	int ret = 0;

	vec_for_each(&a->functions, const struct assembly_function *, f)
		fetch_file(p, p->symbols.rows.items[f->symbol].module, files, owner);

	for (size_t i = 0; i < a->functions.count; i++) {
		int failure = disassemble_function(&a->functions.items[i], p, &found->list.items[i],
						   files, i ? NULL : err);

		ret = i ? ret : failure;
	}
	file_set_free(files);
	return ret;
}

/* Samples in functions of that name that a runtime has told of, without an address. */
static uint64_t weigh_without_code(const struct query *q, const char *function)
{
	const struct profile *p = q->profile;
	uint64_t total = 0;

	for (stack_id leaf = 0; leaf < p->stacks.rows.count; leaf++) {
		const struct frame *frame = &p->frames.rows.items[p->stacks.rows.items[leaf].frame];

		if (q->weights[leaf] && frame->module == NO_MODULE && frame->func != NO_FUNC &&
		    strcmp(strings_get(&p->strings, p->funcs.rows.items[frame->func].name),
			   function) == 0)
			total += q->weights[leaf];
	}
	return total;
}

/* Functions that a perf map or a runtime has named are nothing but a name. */
static int fail_without_code(const struct profile *p, const char *function, struct error *err)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		if (func->module != NO_MODULE ||
		    strcmp(strings_get(&p->strings, func->name), function) != 0)
			continue;
		error_text(err, -ENODATA, "%s: perf maps and runtimes give names, but no code",
			   function);
		error_hint(err, "record with --no-runtimes a program that writes a jitdump: node "
				"--perf-prof, Java with an agent");
		return -ENODATA;
	}
	return error_text(err, -ENODATA, "no sample with a native function %s", function);
}

int assembly_make(struct assembly *a, struct profile *p, const struct query *q,
		  const char *function, const char *const *dirs, struct error *err)
{
	struct identity owner = identity_of_invoker(), before;
	struct code_functions found;
	int ret;

	*a = (struct assembly){0};
	code_functions_find(&found, q, function);
	if (!found.list.count)
		return fail_without_code(p, function, err);
	take_functions(a, p, &found);
	a->without_code = weigh_without_code(q, function);
	before = identity_assume_files(&owner);
	ret = before.failure ? error_set(err, before.failure, "read files as user %u", owner.uid)
			     : show(a, p, &found, dirs, &owner, err);
	identity_restore_files(&before);
	code_functions_release(&found);
	return ret;
}

void assembly_release(struct assembly *a)
{
	vec_for_each(&a->functions, struct assembly_function *, f) {
		vec_for_each(&f->rows, struct assembly_row *, row)
			free(row->text);
		vec_release(&f->rows);
	}
	vec_release(&a->functions);
}

static void add_row(struct listing *l, const struct assembly_row *row, const struct query *q,
		    const struct query_listing_options *options)
{
	/* Rows without weight have empty cells, so that the others stand out. */
	if (row->total || !options->for_people)
		query_listing_add_weights(l, q, options, row->self, row->total);
	else
		for (int i = 0; i < 2; i++)
			listing_add_cell(l, NULL);
	listing_add_cell(l, xasprintf("%" PRIx64, row->address));
	listing_add_cell(l, xstrdup(row->text));
}

void assembly_list_function(struct listing *l, const struct assembly_function *function,
			    const struct query *q, const struct query_listing_options *options)
{
	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "ADDRESS", LISTING_TEXT);
	listing_add_column(l, "INSTRUCTION", LISTING_TEXT);
	vec_for_each(&function->rows, const struct assembly_row *, row) {
		listing_add_row(l, 0);
		add_row(l, row, q, options);
	}
}

void assembly_list(struct listing *l, const struct assembly *a, const struct query *q,
		   const struct query_listing_options *options)
{
	const struct profile *p = q->profile;

	listing_add_column(l, "module", LISTING_TEXT);
	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "address", LISTING_TEXT);
	listing_add_column(l, "instruction", LISTING_TEXT);
	vec_for_each(&a->functions, const struct assembly_function *, f) {
		module_id module = p->symbols.rows.items[f->symbol].module;

		vec_for_each(&f->rows, const struct assembly_row *, row) {
			listing_add_row(l, 0);
			listing_add_cell(l,
					 xstrdup(strings_get(&p->strings,
							     p->modules.rows.items[module].name)));
			add_row(l, row, q, options);
		}
	}
}
