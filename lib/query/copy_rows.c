/* SPDX-License-Identifier: MIT */
#include "lib/query/copy_rows.h"

#include "lib/model/tables/copy.h"
#include "lib/query/runs.h"

/* Times are relative to the new profile. */
static void copy_first(struct profile_meta *into, const struct profile_meta *from)
{
	uint64_t start = into->start_ns, realtime = into->start_realtime_ns, end = into->end_ns;

	profile_meta_copy(into, from, NULL, NULL);
	into->start_ns = start;
	into->start_realtime_ns = realtime;
	into->end_ns = end;
}

void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone)
{
	const struct profile_meta *meta = &from->meta;
	uint64_t end = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns + offset_ns
						     : 0;

	into->meta.end_ns = MAX(into->meta.end_ns, end);
	if (is_first)
		copy_first(&into->meta, meta);
	else
		into->meta.symbolicated &= meta->symbolicated;
	vec_for_each(&meta->extra, const struct profile_extra *, extra) {
		if (is_alone)
			profile_add_extra(into, extra->section, extra->label, extra->format,
					  extra->value);
	}
	if (is_alone)
		into->overhead = from->overhead;
}

/* Returns the ticks of one sample of all profiles: the most of any. */
static uint64_t join_sample_ticks(uint64_t interval_ns, const struct profile *const *profiles,
				  size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_meta *meta = &profiles[i]->meta;
		double ticks = (double)(meta->sample_ticks ?: 1) * (double)meta->interval_ns /
			       (double)interval_ns;

		if (meta->sample_ticks == EVENT_IS_EXACT)
			continue;
		if (ticks > (double)most)
			most = ticks < UINT32_MAX ? (uint64_t)(ticks + 0.5) : UINT32_MAX;
	}
	return most ?: EVENT_IS_EXACT;
}

int row_join_ticks(struct joined_ticks *ticks, const struct profile *const *profiles, size_t count,
		   struct error *err)
{
	const struct profile_meta *sampled = NULL, *first = &profiles[0]->meta;
	bool is_one = true;

	*ticks = (struct joined_ticks){first->interval_ns, first->sample_ticks};
	for (size_t i = 0; i < count; i++) {
		const struct profile_meta *meta = &profiles[i]->meta;
		const struct profile_meta *other = meta->sample_ticks ? NULL : sampled ?: meta;

		if (!query_intervals_agree(meta->interval_ns, first->interval_ns)) {
			is_one = false;
			if (!meta->interval_ns || !first->interval_ns)
				other = first;
		}
		if (other && !query_intervals_agree(meta->interval_ns, other->interval_ns))
			return error_text(err, -EXDEV,
					  "the profiles have different intervals: %.6g and %.6g ms",
					  (double)other->interval_ns / 1e6,
					  (double)meta->interval_ns / 1e6);
		if (!meta->sample_ticks)
			sampled = meta;
		if (!is_one && meta->interval_ns < ticks->interval_ns)
			ticks->interval_ns = meta->interval_ns;
	}
	if (!is_one)
		ticks->sample_ticks = join_sample_ticks(ticks->interval_ns, profiles, count);
	return 0;
}

struct tick_scale row_tick_scale(const struct joined_ticks *into, const struct profile *from)
{
	return (struct tick_scale){from->meta.interval_ns, into->interval_ns, 0};
}

uint32_t row_scale_ticks(struct tick_scale *s, uint32_t ticks)
{
	unsigned __int128 ns;

	if (query_intervals_agree(s->from_ns, s->into_ns))
		return ticks;
	ns = (unsigned __int128)ticks * s->from_ns + s->rest_ns;
	s->rest_ns = (uint64_t)(ns % s->into_ns);
	return ns / s->into_ns < UINT32_MAX ? (uint32_t)(ns / s->into_ns) : UINT32_MAX;
}

#define NOT_COPIED (UINT32_MAX - 1)

struct row_copier {
	struct profile *into;
	const struct profile *from;
	/* New ids by old id, or NOT_COPIED. */
	uint32_t *strings, *modules, *funcs, *symbols, *files, *schemas;
	struct index modules_index; /* index of the new profile's modules */
	uint32_t categories[UINT8_MAX + 1]; /* new id by old id; subcategories stay */
};

static uint32_t *new_map(size_t count)
{
	uint32_t *map = xmalloc((count + 1) * sizeof(*map));

	for (size_t i = 0; i <= count; i++)
		map[i] = NOT_COPIED;
	return map;
}

struct row_copier *row_copier_new(struct profile *into, const struct profile *from)
{
	struct row_copier *c = xcalloc(1, sizeof(*c));

	c->into = into;
	c->from = from;
	c->strings = new_map(from->strings.rows.count);
	c->modules = new_map(from->modules.rows.count);
	c->funcs = new_map(from->funcs.rows.count);
	c->symbols = new_map(from->symbols.rows.count);
	c->files = new_map(from->source_files.rows.count);
	c->schemas = new_map(from->markers.schemas.rows.count);
	for (size_t i = 0; i <= UINT8_MAX; i++)
		c->categories[i] = NOT_COPIED;
	return c;
}

void row_copier_free(struct row_copier *c)
{
	free(c->strings);
	free(c->modules);
	free(c->funcs);
	free(c->symbols);
	free(c->files);
	free(c->schemas);
	index_release(&c->modules_index);
	free(c);
}

string_id row_copier_list(struct row_copier *c, string_id id)
{
	const struct strings *from = &c->from->strings;

	if (id >= from->rows.count)
		return NO_STRING;
	if (c->strings[id] == NOT_COPIED)
		c->strings[id] = strings_intern_list(&c->into->strings, strings_get(from, id),
						     strings_size(from, id));
	return c->strings[id];
}

string_id row_copier_string(struct row_copier *c, string_id id)
{
	return row_copier_list(c, id);
}

static module_id add_module(struct row_copier *c, const struct module *from)
{
	string_id path = row_copier_string(c, from->path);
	module_id id = modules_copy(&c->into->modules, from, path,
				    row_copier_string(c, from->name));

	modules_get(&c->into->modules, id)->debug_file = row_copier_string(c, from->debug_file);
	return id;
}

INDEX_EQUAL(module_equal, struct profile, modules.rows,
	    a->kind == b->kind && a->path == b->path && a->name == b->name && a->pid == b->pid &&
		    a->base == b->base && a->build_id_size == b->build_id_size &&
		    memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0)

/* Modules of several profiles are the same if name and build id are equal. */
static module_id copy_module(struct row_copier *c, module_id id)
{
	struct profile *into = c->into;
	struct module wanted;
	uint64_t hash;
	uint32_t found;

	if (id == NO_MODULE || c->modules[id] != NOT_COPIED)
		return id == NO_MODULE ? NO_MODULE : c->modules[id];
	for (uint32_t i = c->modules_index.count; i < into->modules.rows.count; i++)
		index_add(&c->modules_index,
			  hash_pair(into->modules.rows.items[i].path,
				    into->modules.rows.items[i].name),
			  i);
	wanted = c->from->modules.rows.items[id];
	wanted.path = row_copier_string(c, wanted.path);
	wanted.name = row_copier_string(c, wanted.name);
	hash = hash_pair(wanted.path, wanted.name);
	found = index_find(&c->modules_index, hash, module_equal, into, &wanted);
	if (found == INDEX_NONE) {
		found = add_module(c, &c->from->modules.rows.items[id]);
		index_add(&c->modules_index, hash, found);
	}
	c->modules[id] = found;
	return found;
}

static source_file_id copy_file(struct row_copier *c, source_file_id id)
{
	const struct source_file *from;

	if (id == NO_SOURCE_FILE)
		return NO_SOURCE_FILE;
	from = &c->from->source_files.rows.items[id];
	if (c->files[id] == NOT_COPIED) {
		c->files[id] = source_files_intern(&c->into->source_files,
						   row_copier_string(c, from->path));
		if (from->text && !c->into->source_files.rows.items[c->files[id]].text)
			source_files_set_text(&c->into->source_files, c->files[id],
					      xstrndup(from->text, from->size), from->size);
	}
	return c->files[id];
}

static func_id copy_func(struct row_copier *c, func_id id)
{
	struct func row;

	if (id == NO_FUNC || c->funcs[id] != NOT_COPIED)
		return id == NO_FUNC ? NO_FUNC : c->funcs[id];
	row = c->from->funcs.rows.items[id];
	row.name = row_copier_string(c, row.name);
	row.module = copy_module(c, row.module);
	row.file = copy_file(c, row.file);
	c->funcs[id] = funcs_intern(&c->into->funcs, &row);
	return c->funcs[id];
}

static symbol_id copy_symbol(struct row_copier *c, symbol_id id)
{
	struct symbol row;

	if (id == NO_SYMBOL || c->symbols[id] != NOT_COPIED)
		return id == NO_SYMBOL ? NO_SYMBOL : c->symbols[id];
	row = c->from->symbols.rows.items[id];
	row.name = row_copier_string(c, row.name);
	row.module = copy_module(c, row.module);
	c->symbols[id] = symbols_intern(&c->into->symbols, &row);
	return c->symbols[id];
}

static string_id schema_text(void *ctx, string_id id)
{
	return row_copier_string(ctx, id);
}

schema_id row_copier_schema(struct row_copier *c, schema_id id)
{
	const struct schemas *from = &c->from->markers.schemas;
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	struct schema row;

	if (c->schemas[id] != NOT_COPIED)
		return c->schemas[id];
	row = *schemas_get(from, id);
	for (uint32_t i = 0; i < row.field_count; i++)
		fields[i] = schema_fields(from, schemas_get(from, id))[i];
	copy_schema_texts(&row, fields, &(struct copy_rules){c, schema_text, NULL, NULL});
	c->schemas[id] = schemas_intern(&c->into->markers.schemas, &row, fields);
	return c->schemas[id];
}

static struct profile_category describe_category(const struct profile *p, uint8_t id)
{
	struct profile_category row = {0};

	if (p->categories.count) {
		const struct profile_category *from = &p->categories.items[id];

		row.name = xstrdup(from->name);
		row.color = xstrdup(from->color);
		vec_for_each(&from->subcategories, char *const *, name)
			vec_push(&row.subcategories, xstrdup(*name));
		return row;
	}
	row.name = xstrdup(categories[id]->name);
	row.color = xstrdup(categories[id]->color);
	for (size_t i = 0; categories[id]->subcategories[i]; i++)
		vec_push(&row.subcategories, xstrdup(categories[id]->subcategories[i]));
	return row;
}

static bool is_same_category(const struct profile_category *a, const struct profile_category *b)
{
	if (strcmp(a->name, b->name) != 0 || a->subcategories.count != b->subcategories.count)
		return false;
	for (size_t i = 0; i < a->subcategories.count; i++) {
		if (strcmp(a->subcategories.items[i], b->subcategories.items[i]) != 0)
			return false;
	}
	return true;
}

static void release_category(struct profile_category *row)
{
	free(row->name);
	free(row->color);
	vec_for_each(&row->subcategories, char **, name)
		free(*name);
	vec_release(&row->subcategories);
}

/* The default category is the first grey one. Categories beyond 255 map to it. */
static uint8_t copy_category(struct row_copier *c, uint8_t id)
{
	struct profile *into = c->into;
	struct profile_category row;
	size_t at = 0;

	if (c->categories[id] != NOT_COPIED)
		return (uint8_t)c->categories[id];
	row = describe_category(c->from, id);
	while (at < into->categories.count && !is_same_category(&into->categories.items[at], &row))
		at++;
	if (at == into->categories.count && at < CATEGORY_OF_CALLER)
		vec_push(&into->categories, row);
	else
		release_category(&row);
	c->categories[id] = at < CATEGORY_OF_CALLER ? (uint32_t)at : 0;
	return (uint8_t)c->categories[id];
}

/* True if the stack's frame is inlined into the frame of its shown caller. */
static bool is_inlined(const struct profile *p, const struct query *q, stack_id id)
{
	const struct frame *frame = profile_frame_of(p, id), *caller;

	if (q->parents[id] == NO_STACK || !frame->inline_depth)
		return false;
	caller = &p->frames.rows.items[p->stacks.rows.items[q->parents[id]].frame];
	return caller->module == frame->module && caller->offset == frame->offset &&
	       caller->inline_depth + 1 == frame->inline_depth;
}

static frame_id add_frame(struct row_copier *c, struct frame row)
{
	row.module = copy_module(c, row.module);
	row.func = copy_func(c, row.func);
	row.symbol = copy_symbol(c, row.symbol);
	return frames_intern(&c->into->frames, &row);
}

static frame_id copy_frame(struct row_copier *c, const struct query *q, stack_id id, uint16_t depth)
{
	struct frame row = *profile_frame_of(c->from, id);

	row.category = copy_category(c, q->categories[id].category);
	row.subcategory = q->categories[id].subcategory;
	row.inline_depth = depth;
	return add_frame(c, row);
}

void row_copier_modules(struct row_copier *c)
{
	for (module_id id = 0; id < c->from->modules.rows.count; id++)
		c->modules[id] = add_module(c, &c->from->modules.rows.items[id]);
}

frame_id row_copier_frame(struct row_copier *c, frame_id id)
{
	return add_frame(c, c->from->frames.rows.items[id]);
}

stack_id *row_copier_stacks(struct row_copier *c, const struct query *q, bool *is_used)
{
	size_t count = c->from->stacks.rows.count;
	stack_id *map = new_map(count);
	_cleanup_free_ uint16_t *depths = xcalloc(count + 1, sizeof(*depths));

	/* Front-ends need a grey category. */
	if (!c->into->categories.count && !c->from->categories.count)
		copy_category(c, CATEGORY_OTHER);
	for (size_t i = 0; i < c->from->categories.count && !c->into->categories.count; i++)
		if (strcmp(c->from->categories.items[i].color, "grey") == 0)
			copy_category(c, (uint8_t)i);
	for (size_t i = count; i-- > 0;) {
		if (is_used[i] && q->parents[i] != NO_STACK)
			is_used[q->parents[i]] = true;
	}
	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];

		map[id] = NO_STACK;
		if (!is_used[id])
			continue;
		if (is_inlined(c->from, q, id))
			depths[id] = depths[parent] + 1;
		map[id] = stacks_intern(&c->into->stacks,
					parent == NO_STACK ? NO_STACK : map[parent],
					copy_frame(c, q, id, depths[id]));
	}
	return map;
}
