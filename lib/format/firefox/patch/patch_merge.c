/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/patch/patch_internal.h"

/* Converts the results for unnamed frames to rows of the file's tables. */

INDEX_EQUAL(func_equal, struct patch, funcs,
	    a->name == b->name && a->resource == b->resource && a->source == b->source)

static uint32_t intern_func(struct patch *r, const struct func_draft *func)
{
	uint64_t hash = hash_pair(hash_pair((uint64_t)func->name, (uint64_t)func->resource),
				  (uint64_t)func->source);
	uint32_t position = index_intern(&r->func_index, hash, func_equal, r, func, r->funcs.count);

	if (position == r->funcs.count)
		vec_push(&r->funcs, *func);
	return position;
}

INDEX_EQUAL(symbol_equal, struct patch, symbols, a->lib == b->lib && a->address == b->address)

static uint32_t intern_symbol(struct patch *r, const struct symbol_draft *symbol)
{
	uint64_t hash = hash_pair((uint64_t)symbol->lib, (uint64_t)symbol->address);
	uint32_t position = index_intern(&r->symbol_index, hash, symbol_equal, r, symbol,
					 r->symbols.count);

	if (position == r->symbols.count)
		vec_push(&r->symbols, *symbol);
	return position;
}

INDEX_HAS(source_equal, struct patch, sources, name)

static uint32_t intern_source(struct patch *r, const struct source_draft *source)
{
	uint64_t hash = hash_u64((uint64_t)source->name);
	uint32_t position = index_intern(&r->source_index, hash, source_equal, r, &source->name,
					 r->sources.count);

	if (position == r->sources.count)
		vec_push(&r->sources, *source);
	return position;
}

/*
 * Copies the rows of the file. Rows that equal an earlier one keep their position but must not be
 * found again, so they are pushed and not interned.
 */
static void begin_drafts(struct patch *r)
{
	const struct layout *l = &r->layout;
	const struct cells *c = &r->cells;

	for (uint32_t i = 0; i < l->frames.length; i++)
		vec_push(&r->frames, (struct frame_draft){.from = i,
							  .func = c->frame_func[i],
							  .symbol = CELL_KEEP,
							  .line = CELL_KEEP,
							  .depth = CELL_KEEP,
							  .category = CELL_KEEP,
							  .subcategory = CELL_KEEP});
	for (uint32_t i = 0; i < l->funcs.length; i++) {
		struct func_draft func = {.from = i,
					  .name = c->func_name[i],
					  .resource = c->func_resource[i],
					  .source = c->func_source[i],
					  .line = CELL_KEEP};

		if (intern_func(r, &func) != i)
			vec_push(&r->funcs, func);
	}
	for (uint32_t i = 0; i < l->symbols.length; i++) {
		struct symbol_draft symbol = {i, c->symbol_lib[i], c->symbol_address[i],
					      c->symbol_name[i], CELL_KEEP};

		if (intern_symbol(r, &symbol) != i)
			vec_push(&r->symbols, symbol);
	}
	for (uint32_t i = 0; i < l->sources.length; i++) {
		struct source_draft source = {i, c->source_name[i], c->source_map[i], CELL_KEEP,
					      NO_SOURCE_FILE};

		if (intern_source(r, &source) != i)
			vec_push(&r->sources, source);
	}
	r->extras = xcalloc(l->frames.length + 1, sizeof(*r->extras));
}

/* The native symbol that covers the frame, as a cell. */
static int64_t find_symbol(struct patch *r, symbol_id id, const struct frame *frame, int64_t lib)
{
	struct profile *p = r->profile;
	const struct symbol *symbol;
	struct symbol_draft draft;
	struct symbol_draft *known;
	uint32_t position;

	if (id == NO_SYMBOL)
		return CELL_NULL;
	symbol = &p->symbols.rows.items[id];
	if (symbol->rva > frame->offset || symbol->rva > INT32_MAX ||
	    !strings_size(&p->strings, symbol->name) ||
	    (symbol->size && frame->offset - symbol->rva >= symbol->size))
		return CELL_NULL;
	draft = (struct symbol_draft){
		.from = NO_ROW,
		.lib = lib,
		.address = (int64_t)symbol->rva,
		.name = patch_string(r, symbol->name),
		.size = symbol->size && symbol->size <= INT64_MAX ? (int64_t)symbol->size
								  : CELL_NULL,
	};
	position = intern_symbol(r, &draft);
	known = &r->symbols.items[position];
	if (known->name < (int64_t)r->string_ids.count &&
	    cells_is_synthetic(strings_get(&p->strings, r->string_ids.items[known->name]))) {
		known->name = draft.name;
		known->size = draft.size;
	}
	return position;
}

static int64_t find_source(struct patch *r, source_file_id file)
{
	const struct source_file *source;
	struct source_draft draft = {.from = NO_ROW, .map = CELL_NULL, .start = 1, .file = file};
	uint32_t position;

	if (file == NO_SOURCE_FILE)
		return CELL_NULL;
	source = &r->profile->source_files.rows.items[file];
	if (!strings_size(&r->profile->strings, source->path))
		return CELL_NULL;
	draft.name = patch_string(r, source->path);
	position = intern_source(r, &draft);
	/* Also applies to sources already named by the file. */
	r->sources.items[position].file = file;
	return position;
}

/* `from`: the frame's previous function, from which the resource is taken. */
static int64_t find_func(struct patch *r, func_id id, uint32_t from)
{
	const struct func *func = &r->profile->funcs.rows.items[id];
	struct func_draft draft = {
		.from = from,
		.resource = r->cells.func_resource[from],
		.line = func->line ? func->line : CELL_KEEP,
	};

	draft.name = patch_string(r, func->name);
	draft.source = find_source(r, func->file);
	return intern_func(r, &draft);
}

/* True if the result is more specific than the address already present. */
static bool is_table_ready(const struct patch *r, const struct frame *frame, size_t depth)
{
	const struct func *func = &r->profile->funcs.rows.items[frame->func];
	const char *name = strings_get(&r->profile->strings, func->name);

	return *name && (depth > 1 || frame->line ||
			 (text_starts_with(name, "fun_") || !cells_is_synthetic(name)));
}

struct chain {
	VEC(frame_id) frames; /* frames, outermost first */
};

static void find_chain(const struct profile *p, stack_id stack, struct chain *chain)
{
	size_t count;

	vec_clear(&chain->frames);
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent)
		vec_push(&chain->frames, p->stacks.rows.items[stack].frame);
	count = chain->frames.count;
	for (size_t i = 0; i < count / 2; i++) {
		frame_id other = chain->frames.items[i];

		chain->frames.items[i] = chain->frames.items[count - 1 - i];
		chain->frames.items[count - 1 - i] = other;
	}
}

/* Changes only what depends on names. The rest was known when the file was written. */
static void categorize(const struct patch *r, frame_id id, struct frame_draft *draft)
{
	const struct frame_category *category = r->categories ? &r->categories[id] : NULL;
	bool is_table_ready = category && category->category == CATEGORY_KERNEL &&
			      category->subcategory != KERNEL_OTHER;

	draft->category = is_table_ready ? r->kernel_category : CELL_KEEP;
	draft->subcategory = is_table_ready ? category->subcategory : CELL_KEEP;
}

/* The physical function replaces the row; inlined ones are appended to the table. */
static void apply_chain(struct patch *r, uint32_t row, const struct chain *chain)
{
	const struct frames *frames = &r->profile->frames;
	uint32_t from = (uint32_t)r->cells.frame_func[row];
	const struct frame *outer = frames_get(frames, chain->frames.items[0]);
	int64_t symbol = find_symbol(r, outer->symbol, outer, r->cells.frame_lib[row]);

	r->extras[row] = (struct extra_frames){
		.first = (uint32_t)r->frames.count,
		.count = (uint32_t)chain->frames.count - 1,
	};
	for (size_t i = 0; i < chain->frames.count; i++) {
		const struct frame *frame = frames_get(frames, chain->frames.items[i]);
		struct frame_draft draft = {
			.from = row,
			.func = find_func(r, frame->func, from),
			.symbol = symbol,
			.line = frame->line ? frame->line : CELL_NULL,
			.depth = (int64_t)i,
		};

		categorize(r, chain->frames.items[i], &draft);

		if (i == 0)
			r->frames.items[row] = draft;
		else
			vec_push(&r->frames, draft);
	}
}

static const char *func_name(const struct patch *r, const struct func_draft *func)
{
	size_t old_count = r->string_ids.count, position = (size_t)func->name;
	string_id name = position < old_count ? r->string_ids.items[position]
					      : r->new_strings.items[position - old_count];

	return strings_get(&r->profile->strings, name);
}

static void count_named(const struct patch *r, struct patch_counts *counts)
{
	_cleanup_free_ bool *are_named = xcalloc(r->funcs.count + 1, sizeof(*are_named));
	_cleanup_free_ bool *are_fdes = xcalloc(r->funcs.count + 1, sizeof(*are_fdes));

	for (size_t i = 0; i < r->funcs.count; i++) {
		const char *name = func_name(r, &r->funcs.items[i]);

		are_named[i] = !cells_is_synthetic(name);
		are_fdes[i] = !are_named[i] && text_starts_with(name, "fun_");
	}
	counts->all = r->frames.count;
	vec_for_each(&r->frames, const struct frame_draft *, frame) {
		counts->all_named += are_named[frame->func];
		counts->all_fde += are_fdes[frame->func];
	}
}

void patch_apply(struct patch *r, struct patch_counts *counts)
{
	const struct profile *p = r->profile;
	const struct profile_thread *thread = &p->threads.rows.items[0];
	_cleanup_free_ bool *had_use = xcalloc(r->layout.funcs.length + 1, sizeof(*had_use));
	struct chain chain = {0};
	size_t at = 0;

	*counts = (struct patch_counts){.unnamed = r->unnamed.count};
	begin_drafts(r);
	r->kernel_category = patch_kernel_category(r);
	if (r->kernel_category >= 0)
		r->categories = categories_of_frames(p);
	samples_for_each(&thread->samples, sample) {
		uint32_t row = r->unnamed.items[at++];
		const struct frame *outer;

		find_chain(p, sample->stack, &chain);
		outer = frames_get(&p->frames, chain.frames.items[0]);
		if (outer->func == NO_FUNC || !is_table_ready(r, outer, chain.frames.count))
			continue;
		counts->named += p->funcs.rows.items[outer->func].is_named;
		had_use[r->cells.frame_func[row]] = true;
		apply_chain(r, row, &chain);
	}
	vec_release(&chain.frames);
	count_named(r, counts);
	patch_drop_unused(r, had_use);
	patch_stacks(r);
}
