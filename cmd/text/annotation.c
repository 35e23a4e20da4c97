/* SPDX-License-Identifier: MIT */
#include "cmd/text/annotation.h"

#include "lib/base/identity.h"
#include "lib/base/json/writer.h"
#include "lib/query/code_places.h"
#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/lookup.h"
#include "symbolize/kernel/patched_code.h"
#include "symbolize/source_texts.h"

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64
/* Instructions in a page: some 500 kB. */
#define INSTRUCTIONS_MAX 50000

/* Returns the function at that address; NO_SYMBOL if the profile has none. */
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
 * Appends "<main+0x12>" to jumps within the function and to calls of functions with samples, and
 * notes the kernel's patch of the instruction.
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

/*
 * Attributes samples within an instruction, such as a call that has not returned, to the
 * instruction.
 */
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

/* Downloads a missing file. */
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

/* Copies the functions before files are searched, which makes a vmlinux an ordinary file. */
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

static int show_as(struct assembly *a, struct profile *p, const struct code_functions *found,
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

/* Disassembles the functions with the permissions of the invoking user. */
static int show(struct assembly *a, struct profile *p, const struct code_functions *found,
		const char *const *dirs, struct error *err)
{
	struct identity owner = identity_of_invoker(), before = identity_assume_files(&owner);
	int ret;

	take_functions(a, p, found);
	ret = before.failure
		      ? error_set(err, before.failure, "cannot read files as user %u", owner.uid)
		      : show_as(a, p, found, dirs, &owner, err);
	identity_restore_files(&before);
	return ret;
}

/* Returns the weight of functions of that name reported by a runtime without an address. */
static uint64_t weigh_without_code(const struct query *q, const char *function)
{
	const struct profile *p = q->profile;
	uint64_t total = 0;

	for (stack_id leaf = 0; leaf < p->stacks.rows.count; leaf++) {
		const struct frame *frame = profile_frame_of(p, leaf);

		if (q->weights[leaf] && frame->module == NO_MODULE && frame->func != NO_FUNC &&
		    strcmp(strings_get(&p->strings, p->funcs.rows.items[frame->func].name),
			   function) == 0)
			total += q->weights[leaf];
	}
	return total;
}

/* Fails because functions named by a perf map or a runtime have only a name, no code. */
static int fail_without_code(const struct profile *p, const char *function, struct error *err)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		if (func->module != NO_MODULE ||
		    strcmp(strings_get(&p->strings, func->name), function) != 0)
			continue;
		error_text(err, -ENODATA, "%s: no code: the name is from a perf map or a runtime",
			   function);
		error_hint(err,
			   "record with --no-runtimes, and have the program write a jitdump: node "
			   "--perf-prof, Java with an agent");
		return -ENODATA;
	}
	return error_text(err, -ENODATA, "no sample with a native function %s", function);
}

int assembly_make(struct assembly *a, struct profile *p, const struct query *q,
		  const char *function, const char *const *dirs, struct error *err)
{
	struct code_functions found;
	int ret;

	*a = (struct assembly){0};
	code_functions_find(&found, q, function);
	if (!found.list.count)
		return fail_without_code(p, function, err);
	a->without_code = weigh_without_code(q, function);
	ret = show(a, p, &found, dirs, err);
	code_functions_release(&found);
	return ret;
}

int assembly_make_heaviest(struct assembly *a, struct profile *p, const struct query *q,
			   size_t count, const char *const *dirs, struct error *err)
{
	struct code_functions found;
	int ret = 0;

	*a = (struct assembly){0};
	code_functions_find_heaviest(&found, q, count);
	if (found.list.count)
		ret = show(a, p, &found, dirs, err);
	code_functions_release(&found);
	return ret;
}

void assembly_print_json(const struct assembly *a, const struct profile *p, struct strbuf *out)
{
	char build_id[MODULE_BUILD_ID_TEXT];
	size_t room = INSTRUCTIONS_MAX;
	struct jsonw w;

	jsonw_init_text(&w, out);
	jsonw_array_begin(&w);
	vec_for_each(&a->functions, const struct assembly_function *, f) {
		const struct symbol *symbol = &p->symbols.rows.items[f->symbol];
		const struct module *module = &p->modules.rows.items[symbol->module];

		if (!f->rows.count || f->rows.count > room)
			continue;
		room -= f->rows.count;
		module_build_id_text(module, build_id);
		jsonw_array_begin(&w);
		jsonw_cstring(&w, strings_get(&p->strings, module->name));
		jsonw_cstring(&w, build_id);
		jsonw_u64(&w, symbol->rva);
		jsonw_array_begin(&w);
		vec_for_each(&f->rows, const struct assembly_row *, row) {
			jsonw_array_begin(&w);
			jsonw_u64(&w, row->address - f->address);
			jsonw_cstring(&w, row->text);
			jsonw_array_end(&w);
		}
		jsonw_array_end(&w);
		jsonw_array_end(&w);
	}
	jsonw_array_end(&w);
	jsonw_release(&w);
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
	/* Leave cells of rows without weight empty, so that the others stand out. */
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

/* Lines of context around a weighted line. */
#define AROUND 3
#define TAB 8
#define TEXT_MAX ((size_t)16 << 20)
/* Maximum number of files for a function name: normally few, more only in malicious input. */
#define TEXTS_MAX 16

/* A row of the table by lines. */
struct place {
	string_id file, module; /* ids in the table's strings, or NO_STRING */
	struct annotation_line line;
};

struct places {
	VEC(struct place) list;
};

static bool take_text_of_profile(struct annotation_file *file, const struct profile *p)
{
	vec_for_each(&p->source_files.rows, const struct source_file *, row) {
		if (!row->text || strcmp(strings_get(&p->strings, row->path), file->path) != 0)
			continue;
		file->text = xstrndup(row->text, row->size);
		file->size = strlen(file->text);
		return true;
	}
	return false;
}

static void read_text(struct annotation_file *file, const struct readers *readers,
		      uint64_t recorded_ns)
{
	struct source_text source = {0};

	if (source_text_read(readers, file->path, TEXT_MAX, &source) != SOURCE_TAKEN)
		return;
	file->text = source.text;
	file->size = source.size;
	file->is_changed = recorded_ns &&
			   source.modified_ns / 1000000000 > (int64_t)(recorded_ns / 1000000000);
}

static void find_texts(struct annotation *a, const struct profile *p, struct reader writer)
{
	struct identity owner = identity_of_invoker();
	struct identity before = identity_assume_files(&owner);
	struct readers readers = {0};

	readers_add(&readers, writer);
	for (size_t i = 0; i < a->files.count && i < TEXTS_MAX; i++) {
		struct annotation_file *file = &a->files.items[i];

		if (file->path && !take_text_of_profile(file, p) && !before.failure)
			read_text(file, &readers, p->meta.start_realtime_ns);
	}
	identity_restore_files(&before);
	readers_release(&readers);
}

ORDER(compare_places, struct place,
      COMPARE(a->file, b->file) ?: COMPARE(a->module, b->module) ?:
      COMPARE(a->line.line, b->line.line))

ORDER(compare_files, struct annotation_file,
      COMPARE(b->total, a->total) ?: strcmp(a->path ?: "", b->path ?: "") ?:
      strcmp(a->module ?: "", b->module ?: ""))

static void collect(struct places *places, const struct query_table *t, const char *function)
{
	vec_for_each(&t->rows, const struct query_row *, row) {
		const struct query_key *key = &t->keys->rows.items[row->key];

		if (key->function != NO_STRING &&
		    strcmp(query_keys_text(t->keys, key->function), function) == 0)
			vec_push(&places->list,
				 (struct place){.file = key->file,
						.module = key->module,
						.line = {key->line, row->self, row->total}});
	}
	vec_sort(&places->list, compare_places);
}

static char *copy_text(const struct query_table *t, string_id id)
{
	return id == NO_STRING ? NULL : xstrdup(query_keys_text(t->keys, id));
}

static void group(struct annotation *a, const struct places *places, const struct query_table *t)
{
	for (size_t i = 0; i < places->list.count; i++) {
		const struct place *place = &places->list.items[i], *before = place - 1;
		struct annotation_file *file;

		if (!i || before->file != place->file || before->module != place->module)
			vec_push(&a->files, (struct annotation_file){
						    .path = copy_text(t, place->file),
						    .module = copy_text(t, place->module),
					    });
		file = &vec_last(&a->files);
		vec_push(&file->lines, place->line);
		file->total += place->line.total;
	}
	vec_sort(&a->files, compare_files);
}

void annotation_make(struct annotation *a, const struct query *q, const char *function,
		     struct reader writer)
{
	struct places places = {0};
	struct query_table t;

	*a = (struct annotation){0};
	query_table_make(&t, q, QUERY_BY_LINE, NULL);
	collect(&places, &t, function);
	group(a, &places, &t);
	vec_release(&places.list);
	query_table_release(&t);
	find_texts(a, q->profile, writer);
}

void annotation_release(struct annotation *a)
{
	vec_for_each(&a->files, struct annotation_file *, file) {
		free(file->path);
		free(file->module);
		free(file->text);
		vec_release(&file->lines);
	}
	vec_release(&a->files);
}

/* An iterator over the lines of a text. */
struct source_walk {
	const char *at; /* start of the line; NULL: no line */
	uint32_t line;
};

static void walk_to(struct source_walk *w, uint32_t line)
{
	while (w->at && w->line < line) {
		w->at = strchr(w->at, '\n');
		w->at = w->at && w->at[1] ? w->at + 1 : NULL;
		w->line++;
	}
}

/* Returns the line without tabs, to be freed; NULL past the end of the text. */
static char *line_at(const struct source_walk *w)
{
	struct strbuf line = {0};

	if (!w->at)
		return NULL;
	for (const char *c = w->at; *c && *c != '\n'; c++) {
		size_t blanks = *c == '\t' ? TAB - line.size % TAB : 0;

		if (*c == '\r')
			continue;
		if (!blanks)
			strbuf_addch(&line, *c);
		while (blanks--)
			strbuf_addch(&line, ' ');
	}
	return strbuf_take(&line);
}

char *annotation_line_text(const struct annotation_file *file, uint32_t line)
{
	struct source_walk w = {file->text, 1};

	walk_to(&w, line);
	return line ? line_at(&w) : NULL;
}

static void add_empty_cells(struct listing *l, size_t count)
{
	while (count--)
		listing_add_cell(l, NULL);
}

struct lister {
	struct listing *l;
	const struct query *q;
	const struct query_listing_options *options;
	struct source_walk walk;
	uint32_t last; /* the last listed line */
};

/* Adds lines without weight from `from` on, before `until`. */
static void add_plain(struct lister *x, uint32_t from, uint32_t until)
{
	for (uint32_t line = from; line < until; line++) {
		walk_to(&x->walk, line);
		if (!x->walk.at)
			return;
		listing_add_row(x->l, 0);
		add_empty_cells(x->l, 2);
		listing_add_cell(x->l, xasprintf("%" PRIu32, line));
		listing_add_cell(x->l, line_at(&x->walk));
		x->last = line;
	}
}

static void add_gap(struct lister *x)
{
	listing_add_row(x->l, 0);
	add_empty_cells(x->l, 2);
	listing_add_cell(x->l, xstrdup("..."));
	add_empty_cells(x->l, 1);
}

/* Adds the context before a weighted line. */
static void add_before(struct lister *x, uint32_t line)
{
	uint32_t from = line > AROUND ? line - AROUND : 1;

	if (x->last && from > x->last + AROUND + 1) {
		add_plain(x, x->last + 1, x->last + AROUND + 1);
		if (x->walk.at)
			add_gap(x);
	} else if (x->last) {
		from = x->last + 1;
	}
	add_plain(x, from, line);
}

void annotation_list_file(struct listing *l, const struct annotation_file *file,
			  const struct query *q, const struct query_listing_options *options)
{
	struct lister x = {l, q, options, {file->text, 1}, 0};

	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "LINE", LISTING_NUMBER);
	listing_add_column(l, "SOURCE", LISTING_TEXT);
	vec_for_each(&file->lines, const struct annotation_line *, line) {
		if (line->line)
			add_before(&x, line->line);
		walk_to(&x.walk, line->line);
		listing_add_row(l, 0);
		query_listing_add_weights(l, q, options, line->self, line->total);
		listing_add_cell(l, line->line ? xasprintf("%" PRIu32, line->line) : xstrdup("?"));
		listing_add_cell(l, line->line ? line_at(&x.walk) : NULL);
		x.last = line->line;
	}
	if (x.last)
		add_plain(&x, x.last + 1, x.last + AROUND + 1);
}

void annotation_list(struct listing *l, const struct annotation *a, const struct query *q,
		     const struct query_listing_options *options)
{
	listing_add_column(l, "module", LISTING_TEXT);
	listing_add_column(l, "file", LISTING_TEXT);
	listing_add_column(l, "line", LISTING_NUMBER);
	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "source", LISTING_TEXT);
	vec_for_each(&a->files, const struct annotation_file *, file) {
		struct source_walk walk = {file->text, 1};

		vec_for_each(&file->lines, const struct annotation_line *, line) {
			walk_to(&walk, line->line);
			listing_add_row(l, 0);
			listing_add_cell(l, file->module ? xstrdup(file->module) : NULL);
			listing_add_cell(l, file->path ? xstrdup(file->path) : NULL);
			listing_add_cell(l, line->line ? xasprintf("%" PRIu32, line->line) : NULL);
			query_listing_add_weights(l, q, options, line->self, line->total);
			listing_add_cell(l, line->line ? line_at(&walk) : NULL);
		}
	}
}
