/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/patch/patch.h"

#include "lib/format/firefox/patch/patch_internal.h"
#include "lib/format/firefox/read/layout.h"

struct contents {
	struct layout layout;
	VEC(struct span) strings; /* elements of shared.stringArray */
	int64_t *names; /* string position of each source's name */
	source_content_fn *find;
	void *ctx;
};

static void list_strings(struct contents *c)
{
	struct json_cursor s = json_cursor_within(&c->layout.cursor, c->layout.strings);
	struct span value;

	json_for_each_element(&s, i) {
		json_cursor_value(&s, &value);
		vec_push(&c->strings, value);
	}
}

static int read_sources(struct contents *c, const char *text, size_t size, struct error *err)
{
	int ret = layout_read(&c->layout, text, size, err);
	const struct cell_range range = {.max = (int64_t)c->layout.string_count - 1};

	if (!ret)
		ret = table_read_cells(&c->layout.sources, &c->layout.cursor, "filename", &range,
				       true, &c->names, err);
	if (ret)
		return ret;
	list_strings(c);
	return 0;
}

static bool write_text(void *ctx, struct jsonw *w, size_t row)
{
	struct contents *c = ctx;
	struct json_cursor s = json_cursor_within(&c->layout.cursor,
						  c->strings.items[c->names[row]]);
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t size = 0;

	path = json_cursor_text(&s);
	text = path ? c->find(c->ctx, path, &size) : NULL;
	if (text)
		jsonw_string(w, text, size);
	return text;
}

int contents_write(const char *text, size_t size, source_content_fn *find, void *ctx,
		   struct outfile *out, struct error *err)
{
	struct contents c = {.find = find, .ctx = ctx};
	int ret = read_sources(&c, text, size, err);
	const struct new_column column = {.name = "content", .write = write_text, .ctx = &c};
	struct span at = c.layout.sources.span;
	struct jsonw w;

	if (!ret) {
		jsonw_init(&w, out);
		jsonw_raw(&w, text, at.start);
		w.is_first = true;
		table_write(&c.layout.sources, &c.layout.cursor,
			    &(struct new_rows){NULL, 0, c.layout.sources.length, &column, 1}, &w);
		jsonw_raw(&w, text + at.end, size - at.end);
		jsonw_release(&w);
	}
	layout_release(&c.layout);
	vec_release(&c.strings);
	free(c.names);
	return ret;
}

/* Kernel frames get their subcategories after naming, by the function's name. */

/* Positions of categories take a byte. */
#define CATEGORIES_MAX 256

static bool is_text(struct json_cursor *s, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (json_cursor_peek(s) != '"')
		return false;
	return json_cursor_string(s, &text) && wanted && strcmp(strbuf_text(&text), wanted) == 0;
}

/* True if the value at the cursor is a list of exactly these texts. */
static bool are_texts(struct json_cursor *s, const char *const *wanted)
{
	bool is_same = true;

	if (json_cursor_peek(s) != '[')
		return false;
	json_for_each_element(s, i) {
		is_same &= is_text(s, *wanted);
		wanted += *wanted != NULL;
	}
	return is_same && !*wanted;
}

static bool is_category(struct json_cursor *s, const struct category_row *wanted)
{
	bool has_name = false, has_subcategories = false;

	if (json_cursor_peek(s) != '{')
		return false;
	json_for_each_member(s, key) {
		if (span_is(s, key, "name"))
			has_name = is_text(s, wanted->name);
		else if (span_is(s, key, "subcategories"))
			has_subcategories = are_texts(s, wanted->subcategories);
	}
	return has_name && has_subcategories;
}

int patch_kernel_category(const struct patch *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.categories);

	if (!r->layout.categories.end || json_cursor_peek(&s) != '[')
		return -1;
	for (int row = 0; row < CATEGORIES_MAX && json_cursor_element(&s, (size_t)row); row++) {
		if (is_category(&s, categories[CATEGORY_KERNEL]))
			return row;
	}
	return -1;
}

/* New positions for rows that move because others come and go. */

/* Drops functions that were only addresses. Functions that were never used stay. */
static bool drop_funcs(struct patch *r, const bool *had_use, bool *dropped_names)
{
	size_t count = r->funcs.count, kept = 0;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));
	_cleanup_free_ int64_t *positions = xreallocarray(NULL, count + 1, sizeof(*positions));

	vec_for_each(&r->frames, const struct frame_draft *, frame)
		is_used[frame->func] = true;
	for (size_t i = 0; i < count; i++) {
		struct func_draft *func = &r->funcs.items[i];

		if (i < r->layout.funcs.length && had_use[i] && !is_used[i]) {
			dropped_names[func->name] = true;
			continue;
		}
		positions[i] = (int64_t)kept;
		r->funcs.items[kept++] = *func;
	}
	r->funcs.count = kept;
	vec_for_each(&r->frames, struct frame_draft *, frame)
		frame->func = positions[frame->func];
	return kept < count;
}

static void keep_cells(bool *dropped, const int64_t *cells, size_t count)
{
	for (size_t i = 0; cells && i < count; i++) {
		if (cells[i] >= 0)
			dropped[cells[i]] = false;
	}
}

static void keep_reference(const struct patch *r, const struct reference *reference, bool *dropped)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, reference->at);
	int64_t value;

	if (reference->kind == REFERENCE_STRING) {
		if (!json_cursor_null(&s) && json_cursor_i64(&s, &value))
			dropped[value] = false;
		return;
	}
	json_for_each_element(&s, i) {
		if (!json_cursor_null(&s) && json_cursor_i64(&s, &value))
			dropped[value] = false;
	}
}

/* `dropped` by position: names of dropped functions. Keeps the names with other uses. */
static void keep_used_strings(const struct patch *r, bool *dropped)
{
	const struct layout *l = &r->layout;

	vec_for_each(&r->funcs, const struct func_draft *, func)
		dropped[func->name] = false;
	vec_for_each(&r->symbols, const struct symbol_draft *, symbol)
		dropped[symbol->name] = false;
	vec_for_each(&r->sources, const struct source_draft *, source)
		dropped[source->name] = false;
	keep_cells(dropped, r->cells.source_map, l->sources.length);
	keep_cells(dropped, r->cells.resource_name, l->resources.length);
	keep_cells(dropped, r->cells.resource_host, l->resources.length);
	vec_for_each(&r->references, const struct reference *, reference) {
		if (reference->kind == REFERENCE_STRING || reference->kind == REFERENCE_STRINGS)
			keep_reference(r, reference, dropped);
	}
}

static void map_cells(const struct patch *r, int64_t *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cells[i] = patch_map_string(r, cells[i]);
}

static void map_strings(struct patch *r)
{
	vec_for_each(&r->funcs, struct func_draft *, func)
		func->name = patch_map_string(r, func->name);
	vec_for_each(&r->symbols, struct symbol_draft *, symbol)
		symbol->name = patch_map_string(r, symbol->name);
	vec_for_each(&r->sources, struct source_draft *, source) {
		source->name = patch_map_string(r, source->name);
		source->map = patch_map_string(r, source->map);
	}
	map_cells(r, r->cells.resource_name, r->layout.resources.length);
	map_cells(r, r->cells.resource_host, r->layout.resources.length);
}

void patch_drop_unused(struct patch *r, const bool *had_use)
{
	size_t count = r->layout.string_count + r->new_strings.count;
	_cleanup_free_ bool *dropped = xcalloc(count + 1, sizeof(*dropped));
	uint32_t position = 0;

	/* Unknown parts may refer to strings, so all strings stay. */
	if (!drop_funcs(r, had_use, dropped) || r->layout.has_unknown)
		return;
	keep_used_strings(r, dropped);
	r->string_map = xreallocarray(NULL, count + 1, sizeof(*r->string_map));
	for (size_t i = 0; i < count; i++)
		r->string_map[i] = dropped[i] ? NO_POSITION : position++;
	map_strings(r);
}

void patch_stacks(struct patch *r)
{
	size_t count = r->layout.stacks.length;

	if (r->frames.count <= r->layout.frames.length)
		return;
	r->stack_positions = xreallocarray(NULL, count + 1, sizeof(*r->stack_positions));
	for (uint32_t row = 0; row < count; row++) {
		int64_t frame = r->cells.stack_frame[row], parent = r->cells.stack_parent[row];
		const struct extra_frames *extras = &r->extras[frame];
		struct stack_draft draft = {
			.from = row,
			.frame = frame,
			.parent = parent == CELL_NULL ? CELL_NULL : r->stack_positions[parent],
		};

		vec_push(&r->stacks, draft);
		for (uint32_t i = 0; i < extras->count; i++) {
			draft.parent = (int64_t)r->stacks.count - 1;
			draft.frame = extras->first + i;
			vec_push(&r->stacks, draft);
		}
		r->stack_positions[row] = (uint32_t)r->stacks.count - 1;
	}
}

/* Finds the references from threads to the shared tables. */

/* Bounds the cost of hostile schemas by that of the markers. */
#define SCHEMAS_MAX 500
#define FIELDS_MAX 2000

struct string_field {
	struct span type, key; /* exactly as in the text, with or without quotes */
};

struct walk {
	struct patch *patch;
	struct layout *layout;
	struct json_cursor s;
	VEC(struct span) types; /* marker types with a schema */
	VEC(struct string_field) fields; /* marker fields that contain string indexes */
};

static bool span_equal(const struct json_cursor *s, struct span a, struct span b)
{
	return a.end - a.start == b.end - b.start &&
	       !memcmp(s->text + a.start, s->text + b.start, a.end - a.start);
}

/* Returns a string's text without its quotes; escapes stay as they are. */
static bool read_raw_string(struct json_cursor *s, struct span *inside)
{
	if (json_cursor_peek(s) != '"')
		return false;
	json_cursor_value(s, inside);
	inside->start++;
	inside->end--;
	return true;
}

static bool is_index_format(const struct json_cursor *s, struct span format)
{
	return span_is(s, format, "unique-string") || span_is(s, format, "flow-id") ||
	       span_is(s, format, "terminating-flow-id");
}

static void read_field(struct walk *w, struct span type)
{
	struct string_field field = {.type = type};
	bool has_key = false, is_index = false;
	struct span format;

	json_for_each_member_if_any(&w->s, name) {
		if (span_is(&w->s, name, "key"))
			has_key = read_raw_string(&w->s, &field.key);
		else if (span_is(&w->s, name, "format"))
			is_index = read_raw_string(&w->s, &format) &&
				   is_index_format(&w->s, format);
	}
	if (has_key && is_index)
		vec_push(&w->fields, field);
}

static void read_fields(struct walk *w, struct span fields, struct span type)
{
	w->s = json_cursor_within(&w->layout->cursor, fields);
	json_for_each_element_if_any(&w->s, i)
		read_field(w, type);
}

/* Name and fields may be in any order. */
static void read_schema(struct walk *w)
{
	struct span type = {0}, fields = {0};
	bool has_type = false;
	struct json_cursor after;

	json_for_each_member_if_any(&w->s, key) {
		if (span_is(&w->s, key, "name"))
			has_type = read_raw_string(&w->s, &type);
		else if (span_is(&w->s, key, "fields") || span_is(&w->s, key, "data"))
			json_cursor_value(&w->s, &fields);
	}
	after = w->s;
	if (has_type) {
		vec_push(&w->types, type);
		read_fields(w, fields, type);
	}
	w->s = after;
}

static void read_schemas(struct walk *w, struct span schemas)
{
	w->s = json_cursor_within(&w->layout->cursor, schemas);
	json_for_each_element_if_any(&w->s, i) {
		read_schema(w);
		if (w->types.count > SCHEMAS_MAX || w->fields.count > FIELDS_MAX) {
			w->layout->has_unknown = true;
			vec_clear(&w->fields);
			return;
		}
	}
}

static size_t index_count(const struct walk *w, enum reference_kind kind)
{
	bool is_stack = kind == REFERENCE_STACK || kind == REFERENCE_STACKS;

	return is_stack ? w->layout->stacks.length : w->layout->string_count;
}

/* Fails for all but an index in range or null. */
static void check_index(struct walk *w, size_t count)
{
	int64_t value;

	if (json_cursor_null(&w->s))
		return;
	if (json_cursor_i64(&w->s, &value) && (value < 0 || (uint64_t)value >= count))
		w->s.failed = true;
}

static void add_index(struct walk *w, enum reference_kind kind)
{
	struct reference reference = {.kind = kind};

	json_cursor_peek(&w->s);
	reference.at.start = w->s.at;
	check_index(w, index_count(w, kind));
	reference.at.end = w->s.at;
	vec_push(&w->patch->references, reference);
}

static void add_indexes(struct walk *w, enum reference_kind kind)
{
	struct reference reference = {.kind = kind};
	size_t count = index_count(w, kind);

	json_cursor_peek(&w->s);
	reference.at.start = w->s.at;
	json_for_each_element(&w->s, i)
		check_index(w, count);
	reference.at.end = w->s.at;
	vec_push(&w->patch->references, reference);
}

/* Walks an object whose "stack" refers to stacks: one, or a list with one per sample. */
static void walk_stack(struct walk *w, enum reference_kind kind)
{
	json_for_each_member_if_any(&w->s, key) {
		if (span_is(&w->s, key, "stack") && kind == REFERENCE_STACKS)
			add_indexes(w, kind);
		else if (span_is(&w->s, key, "stack"))
			add_index(w, kind);
	}
}

static void walk_field(struct walk *w, struct span type, struct span key)
{
	char c = json_cursor_peek(&w->s);
	bool is_number = c == '-' || (c >= '0' && c <= '9');

	if (span_is(&w->s, key, "cause"))
		walk_stack(w, REFERENCE_STACK);
	else if (is_number && vec_find(&w->fields, field,
				       span_equal(&w->s, field->key, key) &&
					       span_equal(&w->s, field->type, type)))
		add_index(w, REFERENCE_STRING);
}

/* The type determines how the other fields are read, but may follow them. */
static void walk_data(struct walk *w)
{
	struct span value, type = {0};
	struct json_cursor after;

	if (json_cursor_peek(&w->s) != '{')
		return;
	json_cursor_value(&w->s, &value);
	after = w->s;
	w->s = json_cursor_within(&after, value);
	json_for_each_member(&w->s, key) {
		if (span_is(&w->s, key, "type"))
			read_raw_string(&w->s, &type);
	}
	if (!vec_find(&w->types, known, span_equal(&w->s, *known, type)))
		w->layout->has_unknown = true;
	w->s = json_cursor_within(&after, value);
	json_for_each_member(&w->s, key)
		walk_field(w, type, key);
	after.failed |= w->s.failed;
	w->s = after;
}

static void walk_markers(struct walk *w)
{
	static const char *const others[] = {"startTime", "endTime",  "phase", "category",
					     "length",	  "threadId", NULL};

	json_for_each_member(&w->s, key) {
		if (span_is(&w->s, key, "name")) {
			add_indexes(w, REFERENCE_STRINGS);
		} else if (span_is(&w->s, key, "data")) {
			json_for_each_element(&w->s, i)
				walk_data(w);
		} else {
			w->layout->has_unknown |= !span_is_one_of(&w->s, key, others);
		}
	}
}

static void walk_thread(struct walk *w)
{
	static const char *const samples[] = {"samples", "nativeAllocations", "jsAllocations",
					      NULL};
	static const char *const others[] = {"pid",
					     "tid",
					     "registerTime",
					     "unregisterTime",
					     "processStartupTime",
					     "processShutdownTime",
					     "pausedRanges",
					     "userContextId",
					     "usedInnerWindowIDs",
					     NULL};
	char c;

	json_for_each_member(&w->s, key) {
		c = json_cursor_peek(&w->s);
		if (span_is_one_of(&w->s, key, samples)) {
			walk_stack(w, REFERENCE_STACKS);
		} else if (span_is(&w->s, key, "markers")) {
			walk_markers(w);
		} else {
			/* An index can only be a number or in a list. */
			if (!strchr("\"tfn", c) && !span_is_one_of(&w->s, key, others))
				w->layout->has_unknown = true;
		}
	}
}

/* A number can only be an index, or in a list. */
static int patch_find_references(struct patch *r, struct error *err)
{
	struct walk w = {.patch = r, .layout = &r->layout};
	size_t count = 0;
	int ret = 0;

	read_schemas(&w, r->layout.schemas);
	w.s = json_cursor_within(&r->layout.cursor, r->layout.threads);
	json_for_each_element(&w.s, i) {
		walk_thread(&w);
		count++;
	}
	if (!count || w.s.failed)
		ret = error_text(err, -EBADMSG, "threads[%zu] is damaged at byte %zu",
				 count ? count - 1 : 0, w.s.at);
	vec_release(&w.types);
	vec_release(&w.fields);
	return ret;
}

static uint32_t *position_of(struct patch *r, string_id id)
{
	while (r->string_positions.count <= id)
		vec_push(&r->string_positions, NO_POSITION);
	return &r->string_positions.items[id];
}

static int read_strings(struct patch *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.strings);
	_cleanup_(strbuf_release) struct strbuf text = {0};
	uint32_t *position;

	json_for_each_element(&s, i) {
		uint32_t row = (uint32_t)r->string_ids.count;
		string_id id;

		if (!json_cursor_string(&s, &text))
			return error_text(err, -EBADMSG, "shared.stringArray[%u] is damaged", row);
		id = strings_intern_sized(&r->profile->strings, strbuf_text(&text), text.size);
		vec_push(&r->string_ids, id);
		position = position_of(r, id);
		/* Use the first one if the file has a string twice. */
		if (*position == NO_POSITION)
			*position = row;
	}
	return 0;
}

uint32_t patch_string(struct patch *r, string_id id)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_(strbuf_release) struct strbuf clean = {0};
	uint32_t *position;

	if (!jsonw_is_clean(strings_get(strings, id), strings_size(strings, id))) {
		jsonw_clean(&clean, strings_get(strings, id), strings_size(strings, id));
		id = strings_intern_sized(strings, strbuf_text(&clean), clean.size);
	}
	position = position_of(r, id);
	if (*position == NO_POSITION) {
		*position = (uint32_t)(r->layout.string_count + r->new_strings.count);
		vec_push(&r->new_strings, id);
	}
	return *position;
}

static module_id find_module(struct patch *r, uint32_t position)
{
	module_id *id = &r->lib_modules[position];

	if (*id == NO_MODULE) {
		*id = layout_lib_add(&r->layout.libs.rows.items[position], r->profile);
		vec_push(&r->module_libs, position);
	}
	return *id;
}

static bool has_made_up_name(const struct patch *r, size_t row)
{
	const struct cells *c = &r->cells;
	string_id name = r->string_ids.items[c->func_name[c->frame_func[row]]];

	return cells_is_synthetic(strings_get(&r->profile->strings, name));
}

/* True if the frame is a position in a lib's code and not inlined. */
static bool is_place(const struct patch *r, size_t row)
{
	const struct cells *c = &r->cells;

	return c->frame_lib[row] >= 0 && c->frame_address[row] >= 0 && !c->frame_depth[row];
}

static bool is_unnamed(const struct patch *r, size_t row)
{
	return is_place(r, row) && has_made_up_name(r, row);
}

size_t patch_named_before(const struct patch *r, module_id module)
{
	size_t count = 0;

	for (size_t row = 0; row < r->layout.frames.length; row++)
		count += is_place(r, row) &&
			 r->cells.frame_lib[row] == (int64_t)r->module_libs.items[module] &&
			 !has_made_up_name(r, row);
	return count;
}

/* Makes a stack and a sample of each unnamed frame, so that it survives the expansion. */
static void collect_unnamed(struct patch *r)
{
	struct profile *p = r->profile;
	struct profile_thread *thread =
		threads_get(&p->threads, threads_add(&p->threads, &(struct profile_thread){
									  .is_main = true,
								  }));

	for (size_t row = 0; row < r->layout.frames.length; row++) {
		struct frame frame = {.func = NO_FUNC, .symbol = NO_SYMBOL};
		struct sample sample = {.weight = 1};

		if (!is_unnamed(r, row))
			continue;
		frame.module = find_module(r, (uint32_t)r->cells.frame_lib[row]);
		frame.offset = (uint64_t)r->cells.frame_address[row];
		if (module_is_kernel(modules_get(&p->modules, frame.module)))
			frame.kind = PROFILE_FRAME_KERNEL;
		sample.stack = stacks_intern(&p->stacks, NO_STACK,
					     frames_intern(&p->frames, &frame));
		samples_add(&thread->samples, &sample);
		vec_push(&r->unnamed, (uint32_t)row);
	}
}

DEFINE_CLEANUP(struct patch *, patch_free)

int patch_open(struct patch **out, char *text, size_t size, struct error *err)
{
	_cleanup_(patch_free) struct patch *r = xcalloc(1, sizeof(*r));
	struct strbuf clean = {0};
	int ret;

	if (!jsonw_is_clean(text, size)) {
		/* The names inserted are UTF-8, so the whole text must be. */
		jsonw_clean(&clean, text, size);
		free(text);
		size = clean.size;
		text = strbuf_take(&clean);
	}
	r->text = text;
	r->profile = profile_new();
	ret = layout_read(&r->layout, text, size, err) ?: patch_find_references(r, err);
	if (!ret)
		ret = cells_read(&r->cells, &r->layout, CELLS_PATCHED, 0, err);
	if (!ret)
		ret = read_strings(r, err);
	if (ret)
		return ret;
	r->lib_modules = xreallocarray(NULL, r->layout.libs.rows.count + 1,
				       sizeof(*r->lib_modules));
	for (size_t i = 0; i < r->layout.libs.rows.count; i++)
		r->lib_modules[i] = NO_MODULE;
	collect_unnamed(r);
	*out = steal(r);
	return 0;
}

void patch_free(struct patch *r)
{
	if (!r)
		return;
	cells_release(&r->cells);
	layout_release(&r->layout);
	profile_free(r->profile);
	vec_release(&r->references);
	vec_release(&r->string_ids);
	vec_release(&r->string_positions);
	vec_release(&r->new_strings);
	free(r->lib_modules);
	vec_release(&r->module_libs);
	vec_release(&r->unnamed);
	vec_release(&r->frames);
	vec_release(&r->funcs);
	vec_release(&r->symbols);
	vec_release(&r->sources);
	index_release(&r->func_index);
	index_release(&r->symbol_index);
	index_release(&r->source_index);
	free(r->extras);
	free(r->categories);
	vec_release(&r->stacks);
	free(r->stack_positions);
	free(r->string_map);
	free(r->text);
	free(r);
}

struct profile *patch_profile(struct patch *r)
{
	return r->profile;
}

char *patch_os(const struct patch *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.os);
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (r->layout.os.end)
		json_cursor_string(&s, &text);
	return xstrdup(strbuf_text(&text));
}

const char *patch_debug_path(const struct patch *r, module_id module)
{
	return r->layout.libs.rows.items[r->module_libs.items[module]].debug_path;
}
