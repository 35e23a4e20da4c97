/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/layout.h"

#include "lib/format/firefox/breakpad_id.h"

/* Rows have 32-bit ids. */
#define LENGTH_MAX ((int64_t)UINT32_MAX - 1)
#define COLUMNS_MAX 64

static size_t count_elements(struct json_cursor *s)
{
	size_t count = 0;

	json_for_each_element(s, i)
		count++;
	return count;
}

static int check_length(const struct table *t, const struct json_cursor *s,
			const struct column *column, size_t count, struct error *err)
{
	if (count == t->length || !column->is_list)
		return 0;
	return error_text(err, -EBADMSG, "%s.%.*s has %zu values instead of %zu", t->name,
			  (int)(column->key.end - column->key.start < 40
					? column->key.end - column->key.start
					: 40),
			  s->text + column->key.start, count, t->length);
}

/*
 * Reads the object at the cursor. Returns -EBADMSG if it is not a table. In a thread's own table,
 * the longest column determines the length.
 */
static int table_read(struct table *t, struct json_cursor *s, const char *name, bool is_own,
		      struct error *err)
{
	size_t counts[COLUMNS_MAX];
	int64_t length = is_own ? 0 : -1;
	int ret = 0;

	t->name = name;
	json_cursor_peek(s);
	t->span.start = s->at;
	json_for_each_member(s, key) {
		struct column column = {.key = key};

		if (span_is(s, key, "length")) {
			if (!is_own)
				json_cursor_i64(s, &length);
			continue;
		}
		if (t->columns.count == COLUMNS_MAX)
			return error_text(err, -EBADMSG, "%s has too many columns", name);
		column.is_list = json_cursor_peek(s) == '[';
		column.values.start = s->at;
		counts[t->columns.count] = column.is_list ? count_elements(s) : json_cursor_skip(s);
		column.values.end = s->at;
		if (is_own && column.is_list && counts[t->columns.count] > (size_t)length)
			length = (int64_t)counts[t->columns.count];
		vec_push(&t->columns, column);
	}
	t->span.end = s->at;
	if (s->failed || length < 0 || length > LENGTH_MAX)
		return error_text(err, -EBADMSG, "%s is not a table", name);
	t->length = (size_t)length;
	for (size_t i = 0; i < t->columns.count && !ret && !is_own; i++)
		ret = check_length(t, s, &t->columns.items[i], counts[i], err);
	return ret;
}

const struct column *table_column(const struct table *t, const struct json_cursor *s,
				  const char *name)
{
	return vec_find(&t->columns, column, column->is_list && span_is(s, column->key, name));
}

int64_t cell_or_minus_one(struct json_cursor *s, int64_t max)
{
	struct json_cursor inside;
	int64_t number = -1;
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (strchr("tf", json_cursor_peek(&inside)))
		return json_cursor_peek(&inside) == 't';
	return json_cursor_i64(&inside, &number) && number >= 0 && number <= max ? number : -1;
}

static bool read_cell(struct json_cursor *s, const struct cell_range *range, int64_t *value)
{
	if (range->or_any) {
		*value = cell_or_minus_one(s, range->max);
		return true;
	}
	if (range->or_null && json_cursor_null(s)) {
		*value = CELL_NULL;
		return true;
	}
	if (range->or_bool && strchr("tf", json_cursor_peek(s))) {
		bool is_set = false;

		json_cursor_bool(s, &is_set);
		*value = is_set;
		return !s->failed;
	}
	return json_cursor_i64(s, value) && *value >= range->min && *value <= range->max;
}

int table_read_cells(const struct table *t, const struct json_cursor *s, const char *name,
		     const struct cell_range *range, bool needed, int64_t **values,
		     struct error *err)
{
	const struct column *column = table_column(t, s, name);
	_cleanup_free_ int64_t *cells = NULL;
	struct json_cursor at;

	*values = NULL;
	if (!column && needed)
		return error_text(err, -EBADMSG, "%s.%s is missing", t->name, name);
	if (!column)
		return 0;
	/* Columns of old tables may be shorter than others. */
	cells = xreallocarray(NULL, t->length + 1, sizeof(*cells));
	memset(cells, 0xff, (t->length + 1) * sizeof(*cells));
	at = json_cursor_within(s, column->values);
	json_for_each_element(&at, row) {
		if (range->flags && !(range->flags[row] & range->flag)) {
			cells[row] = range->missing;
			json_cursor_skip(&at);
		} else if (!read_cell(&at, range, &cells[row])) {
			return error_text(err, -EBADMSG, "%s.%s[%zu] is out of range", t->name,
					  name, row);
		}
	}
	*values = steal(cells);
	return 0;
}

size_t table_count_values(const struct table *t, const struct json_cursor *s, const char *name)
{
	const struct column *column = table_column(t, s, name);
	struct json_cursor at;
	struct span value;
	size_t count = 0;

	if (!column)
		return 0;
	at = json_cursor_within(s, column->values);
	json_for_each_element(&at, i) {
		json_cursor_value(&at, &value);
		count += !span_is(s, value, "null") && !span_is(s, value, "0");
	}
	return count;
}

/* Returns the place of each value of a column. */
static struct span *find_cells(const struct table *t, const struct json_cursor *s,
			       const struct column *column)
{
	struct span *cells = xreallocarray(NULL, t->length + 1, sizeof(*cells));
	struct json_cursor at = json_cursor_within(s, column->values);

	json_for_each_element(&at, row)
		json_cursor_value(&at, &cells[row]);
	return cells;
}

static bool write_new_cell(const struct new_column *column, struct jsonw *w, size_t row,
			   size_t size, bool was_null)
{
	int64_t cell;

	if (!column)
		return false;
	if (!column->cell)
		return was_null && column->write(column->ctx, w, row);
	cell = *(const int64_t *)((const char *)column->cell + row * size);
	if (cell == CELL_KEEP)
		return false;
	if (cell == CELL_NULL)
		jsonw_null(w);
	else
		jsonw_i64(w, cell);
	return true;
}

static void write_span(const struct json_cursor *s, struct span span, struct jsonw *w)
{
	jsonw_raw_value(w, s->text + span.start, span.end - span.start);
}

static void write_column(const struct table *t, const struct json_cursor *s,
			 const struct column *column, const struct new_rows *rows, struct jsonw *w)
{
	const struct new_column *anew = items_find(rows->columns, rows->column_count, it,
						   span_is(s, column->key, it->name));
	_cleanup_free_ struct span *cells = find_cells(t, s, column);

	jsonw_array_begin(w);
	for (size_t row = 0; row < rows->count; row++) {
		size_t from = !rows->from ? row
					  : *(const uint32_t *)((const char *)rows->from +
								row * rows->size);
		bool was_null = from == NO_ROW || span_is(s, cells[from], "null");

		if (write_new_cell(anew, w, row, rows->size, was_null))
			continue;
		if (was_null)
			jsonw_null(w);
		else
			write_span(s, cells[from], w);
	}
	jsonw_array_end(w);
}

void table_write(const struct table *t, const struct json_cursor *s, const struct new_rows *rows,
		 struct jsonw *w)
{
	jsonw_object_begin(w);
	vec_for_each(&t->columns, const struct column *, column) {
		_cleanup_free_ char *key = xstrndup(s->text + column->key.start,
						    column->key.end - column->key.start);

		jsonw_key(w, key);
		if (column->is_list)
			write_column(t, s, column, rows, w);
		else
			write_span(s, column->values, w);
	}
	jsonw_key(w, "length");
	jsonw_u64(w, rows->count);
	jsonw_object_end(w);
}

/* More files than any system has. */
#define LIBS_MAX 1000000

/* Files with equal paths, distinguished by invented ids. */
#define SAME_PATH_MAX 16

static bool is_there(struct span span)
{
	return span.end > span.start;
}

static int damaged(const struct json_cursor *s, struct error *err)
{
	return error_text(err, -EBADMSG, "invalid JSON at byte %zu", s->at);
}

static int no_profile(struct error *err)
{
	return error_text(err, -EBADMSG, "not a processed profile of the Firefox Profiler");
}

static void add_other(struct layout *l, struct span key, struct span value)
{
	static const char *const known[] = {"pages", "profileGatheringLog", NULL};

	/* [] and null do not count. */
	l->other_count += value.end - value.start > strlen("null");
	l->has_unknown |= !span_is_one_of(&l->cursor, key, known);
}

/* Validates the whole text; later readers of its parts rely on that. */
static int find_parts(struct layout *l, struct error *err)
{
	struct json_cursor *s = &l->cursor;
	struct span value;

	if (json_cursor_peek(s) != '{')
		return no_profile(err);
	json_for_each_member(s, key) {
		json_cursor_value(s, &value);
		if (span_is(s, key, "meta"))
			l->meta = value;
		else if (span_is(s, key, "libs"))
			l->lib_list = value;
		else if (span_is(s, key, "shared"))
			l->shared = value;
		else if (span_is(s, key, "threads"))
			l->threads = value;
		else if (span_is(s, key, "counters"))
			l->counters = value;
		else if (span_is(s, key, "profilerOverhead"))
			l->overhead = value;
		else if (span_is(s, key, "profilingLog"))
			l->log = value;
		else
			add_other(l, key, value);
	}
	return json_cursor_end(s) ? 0 : damaged(s, err);
}

static int check_version(const struct layout *l, struct error *err)
{
	if (l->version > LAYOUT_VERSION_MAX)
		return error_text(err, -ENOTSUP,
				  "version %" PRId64
				  " of the profile format is too new: prof reads up to %d",
				  l->version, LAYOUT_VERSION_MAX);
	return 0;
}

int layout_read_meta(struct layout *l, struct error *err)
{
	struct json_cursor s = json_cursor_within(&l->cursor, l->meta);
	struct span value;

	if (!is_there(l->meta) || json_cursor_peek(&s) != '{')
		return no_profile(err);
	json_for_each_member(&s, key) {
		if (span_is(&s, key, "preprocessedProfileVersion")) {
			if (!json_cursor_i64(&s, &l->version))
				return no_profile(err);
			continue;
		}
		json_cursor_value(&s, &value);
		if (span_is(&s, key, "symbolicated"))
			l->symbolicated = value;
		else if (span_is(&s, key, "symbolicationNotSupported"))
			l->not_supported = value;
		else if (span_is(&s, key, "extra"))
			l->extra = value;
		else if (span_is(&s, key, "categories"))
			l->categories = value;
		else if (span_is(&s, key, "oscpu") && s.text[value.start] == '"')
			l->os = value;
		else if (span_is(&s, key, "markerSchema"))
			l->schemas = value;
	}
	/* meta.extra is rewritten, so it must not be duplicated. */
	if (is_there(l->extra) && s.text[l->extra.start] != '[')
		return error_text(err, -EBADMSG, "meta.extra is not a list");
	/* The oldest processed profiles have no version. */
	return l->version || is_there(l->threads) ? check_version(l, err) : no_profile(err);
}

static void read_build_id(struct layout_lib *lib, const char *text)
{
	size_t size = strlen(text) / 2;

	if (size > sizeof(lib->build_id) || strlen(text) % 2)
		return;
	for (size_t i = 0; i < size; i++) {
		const char *at = text + 2 * i;
		uint64_t byte;

		if (!text_scan_hex(&at, text + 2 * i + 2, &byte) || at != text + 2 * i + 2)
			return;
		lib->build_id[i] = (uint8_t)byte;
	}
	lib->build_id_size = (uint8_t)size;
}

/* Distinguishes a real build id from one invented by prof for a file without one. */
static bool is_build_id(const char *breakpad_id, const char *path)
{
	char invented[BREAKPAD_ID_SIZE + 1];

	if (strlen(breakpad_id) < BREAKPAD_ID_SIZE ||
	    strspn(breakpad_id, "0") == strlen(breakpad_id))
		return false;
	for (uint64_t salt = 0; salt < SAME_PATH_MAX; salt++) {
		breakpad_id_invent(invented, path, strlen(path), salt);
		if (strcmp(breakpad_id, invented) == 0)
			return false;
	}
	return true;
}

/*
 * Joins the id of a program database, "{10000000-…-0000000000a2}", and the age 7 to "10000000…A27".
 */
static char *join_signature(const char *signature, int64_t age)
{
	_cleanup_(strbuf_release) struct strbuf id = {0};

	for (; *signature; signature++) {
		if (!strchr("{}-", *signature))
			strbuf_addch(&id, (char)toupper((unsigned char)*signature));
	}
	strbuf_addf(&id, "%" PRId64, age);
	return xstrdup(strbuf_text(&id));
}

/* Members that exist only in older files. */
struct old_lib {
	char *debug_name, *database, *signature;
	int64_t age;
};

static void old_lib_release(struct old_lib *old)
{
	free(old->debug_name);
	free(old->database);
	free(old->signature);
}

DEFINE_CLEANUP(struct old_lib *, old_lib_release)

/* In the oldest files, the name is the path. */
static void upgrade_lib(struct layout_lib *lib, const struct old_lib *old, char **breakpad_id)
{
	const char *name = lib->name ? lib->name : "";
	const char *slash = strrchr(name, '/');
	char *path;

	if (old->signature && !*breakpad_id)
		*breakpad_id = join_signature(old->signature, old->age);
	if (old->debug_name || lib->path)
		return;
	path = xstrdup(name);
	name = old->database ? old->database : slash ? slash + 1 : name;
	name = xstrndup(name, strlen(name) - (text_ends_with(name, ".pdb") ? 4 : 0));
	free(lib->name);
	lib->name = (char *)name;
	lib->path = path;
}

static void finish_lib(struct layout_lib *lib, const char *code_id, const char *breakpad_id)
{
	if (code_id)
		read_build_id(lib, code_id);
	lib->name = lib->name ? lib->name : xstrdup("");
	lib->path = lib->path ? lib->path : xstrdup("");
	lib->arch = lib->arch ? lib->arch : xstrdup("");
	lib->debug_path = lib->debug_path ? lib->debug_path : xstrdup("");
	lib->has_breakpad_id = breakpad_id && !lib->build_id_size &&
			       is_build_id(breakpad_id, *lib->path ? lib->path : lib->name);
}

char *layout_read_value(struct json_cursor *s)
{
	struct span value;

	if (json_cursor_peek(s) == '"')
		return json_cursor_text(s);
	json_cursor_value(s, &value);
	return xstrndup(s->text + value.start, value.end - value.start);
}

uint64_t layout_read_number(struct json_cursor *s)
{
	struct span value;
	uint64_t number = 0;
	const char *at;

	json_cursor_value(s, &value);
	at = s->text + value.start;
	text_scan_decimal(&at, s->text + value.end, &number);
	return number;
}

static void read_lib(struct layout_libs *libs, struct json_cursor *s)
{
	struct layout_lib lib = {0};
	_cleanup_(old_lib_release) struct old_lib *old = &(struct old_lib){0};
	_cleanup_free_ char *code_id = NULL, *breakpad_id = NULL;

	json_for_each_member(s, key) {
		char **to = span_is(s, key, "name")	      ? &lib.name
			    : span_is(s, key, "path")	      ? &lib.path
			    : span_is(s, key, "debugPath")    ? &lib.debug_path
			    : span_is(s, key, "arch")	      ? &lib.arch
			    : span_is(s, key, "codeId")	      ? &code_id
			    : span_is(s, key, "breakpadId")   ? &breakpad_id
			    : span_is(s, key, "debugName")    ? &old->debug_name
			    : span_is(s, key, "pdbName")      ? &old->database
			    : span_is(s, key, "pdbSignature") ? &old->signature
							      : NULL;

		if (to && !*to)
			*to = json_cursor_text(s);
		else if (span_is(s, key, "start"))
			lib.start = layout_read_number(s);
		else if (span_is(s, key, "end"))
			lib.end = layout_read_number(s);
		else if (span_is(s, key, "offset"))
			lib.offset = layout_read_number(s);
		else if (span_is(s, key, "pdbAge"))
			old->age = (int64_t)layout_read_number(s);
	}
	upgrade_lib(&lib, old, &breakpad_id);
	finish_lib(&lib, code_id, breakpad_id);
	vec_push(&libs->rows, lib);
}

int layout_read_libs(struct layout_libs *libs, struct json_cursor *s, struct error *err)
{
	json_for_each_element(s, i) {
		if (json_cursor_peek(s) != '{' || libs->rows.count == LIBS_MAX)
			return error_text(err, -EBADMSG, "libs is not a list of libraries");
		read_lib(libs, s);
	}
	return s->failed ? error_text(err, -EBADMSG, "libs is not a list of libraries") : 0;
}

void layout_libs_release(struct layout_libs *libs)
{
	vec_for_each(&libs->rows, struct layout_lib *, lib) {
		free(lib->name);
		free(lib->path);
		free(lib->debug_path);
		free(lib->arch);
	}
	vec_release(&libs->rows);
}

static int read_libs(struct layout *l, struct span libs, struct error *err)
{
	struct json_cursor s = json_cursor_within(&l->cursor, libs);

	if (!is_there(libs))
		return no_profile(err);
	return layout_read_libs(&l->libs, &s, err);
}

static int read_strings(struct layout *l, struct json_cursor *s, struct error *err)
{
	l->string_count = 0;
	json_cursor_peek(s);
	l->strings.start = s->at;
	json_for_each_element(s, i) {
		if (json_cursor_peek(s) != '"' || l->string_count == UINT32_MAX / 2)
			return error_text(err, -EBADMSG, "shared.stringArray[%zu] is not a string",
					  l->string_count);
		l->string_count++;
	}
	l->strings.end = s->at;
	return s->failed ? error_text(err, -EBADMSG, "shared.stringArray is not a list") : 0;
}

/* Columns without string indexes, or that are renumbered. */
static const char *const plain_columns[] = {
	"address",	 "category",
	"columnNumber",	 "column",
	"content",	 "filename",
	"flags",	 "frame",
	"func",		 "functionSize",
	"host",		 "inlineDepth",
	"innerWindowID", "isJS",
	"lib",		 "libIndex",
	"line",		 "lineNumber",
	"name",		 "nativeSymbol",
	"prefix",	 "prefixOffset",
	"resource",	 "relevantForJS",
	"source",	 "originalLocation",
	"sourceMapURL",	 "startColumn",
	"startLine",	 "subcategory",
	"type",		 NULL,
};

static bool holds_numbers(const struct json_cursor *of, const struct column *column)
{
	struct json_cursor s = json_cursor_within(of, column->values);

	if (!column->is_list)
		return true;
	json_for_each_element(&s, i) {
		if (!json_cursor_null(&s) && json_cursor_peek(&s) != '"')
			return true;
	}
	return false;
}

static int read_table(struct layout *l, struct table *t, struct json_cursor *s, const char *name,
		      struct error *err)
{
	int ret = table_read(t, s, name, l->version < LAYOUT_VERSION_MIN, err);

	vec_for_each(&t->columns, const struct column *, column) {
		if (!ret && !span_is_one_of(s, column->key, plain_columns) &&
		    holds_numbers(s, column))
			l->has_unknown = true;
	}
	return ret;
}

static int read_member(struct layout *l, struct json_cursor *s, struct span key, struct error *err)
{
	const struct {
		const char *name;
		struct table *table;
	} tables[] = {
		{"stackTable", &l->stacks},	  {"frameTable", &l->frames},
		{"funcTable", &l->funcs},	  {"nativeSymbols", &l->symbols},
		{"resourceTable", &l->resources}, {"sources", &l->sources},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (span_is(s, key, tables[i].name) && !tables[i].table->name &&
		    (l->version >= LAYOUT_VERSION_MIN || json_cursor_peek(s) == '{'))
			return read_table(l, tables[i].table, s, tables[i].name, err);
	}
	if (span_is(s, key, "stringArray") && !is_there(l->strings))
		return read_strings(l, s, err);
	if (span_is(s, key, "libs") && json_cursor_peek(s) == '[')
		json_cursor_value(s, &l->lib_list);
	if (!span_is(s, key, "sourceLocationTable"))
		l->has_unknown = true;
	return 0;
}

static int read_shared(struct layout *l, struct span shared, struct error *err)
{
	struct json_cursor s = json_cursor_within(&l->cursor, shared);
	int ret = 0;

	if (!is_there(shared) || json_cursor_peek(&s) != '{')
		return no_profile(err);
	for (struct span key = {0}; !ret && json_cursor_member(&s, &key);)
		ret = read_member(l, &s, key, err);
	if (ret)
		return ret;
	if (!l->stacks.name || !l->frames.name || !l->funcs.name || !l->symbols.name ||
	    !l->resources.name || !l->sources.name || !is_there(l->strings))
		return error_text(err, -EBADMSG, "a shared table is missing");
	return 0;
}

static enum profile_module_kind kind_of(const struct layout_lib *lib)
{
	/* Pseudo files have no path; a real file may have the same name. */
	if (lib->name[0] != '[' || lib->path[0] == '/')
		return module_path_is_dump(lib->path) ? PROFILE_MODULE_CODE_DUMP
						      : PROFILE_MODULE_FILE;
	if (strcmp(lib->name, "[vdso]") == 0)
		return PROFILE_MODULE_VDSO;
	if (text_starts_with(lib->name, "[kernel.kallsyms]"))
		return PROFILE_MODULE_KERNEL;
	return PROFILE_MODULE_KERNEL_MODULE;
}

/* True if prof recorded the file as deleted: the path ends with PATH_DELETED, the name does not. */
static bool was_deleted(const struct layout_lib *lib)
{
	const char *slash = strrchr(lib->path, '/');

	return slash && text_ends_with(lib->path, PATH_DELETED) &&
	       strcmp(slash + 1, lib->name) != 0;
}

module_id layout_lib_add(const struct layout_lib *lib, struct profile *p)
{
	string_id path = strings_intern(&p->strings, *lib->path ? lib->path : lib->name);
	string_id name = strings_intern(&p->strings, lib->name);
	module_id id = modules_add(&p->modules, kind_of(lib), path, name);
	struct module *module = modules_get(&p->modules, id);

	module->was_deleted = was_deleted(lib);
	module->machine = firefox_machine(lib->arch);
	module->build_id_size = lib->build_id_size;
	memcpy(module->build_id, lib->build_id, sizeof(module->build_id));
	return id;
}

int layout_find(struct layout *l, const char *text, size_t size, struct error *err)
{
	int ret;

	*l = (struct layout){0};
	json_cursor_init(&l->cursor, text, size);
	ret = find_parts(l, err) ?: layout_read_meta(l, err);
	if (ret)
		layout_release(l);
	return ret;
}

int layout_read_own_tables(struct layout *l, struct json_cursor s, struct error *err)
{
	struct table *const tables[] = {&l->stacks, &l->frames, &l->funcs, &l->symbols,
					&l->resources};
	int ret = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		vec_release(&tables[i]->columns);
		*tables[i] = (struct table){0};
	}
	for (struct span key = {0}; !ret && json_cursor_member(&s, &key);)
		ret = read_member(l, &s, key, err);
	return ret;
}

int layout_read_tables(struct layout *l, struct error *err)
{
	return read_libs(l, l->lib_list, err) ?: read_shared(l, l->shared, err);
}

int layout_read(struct layout *l, const char *text, size_t size, struct error *err)
{
	int ret = layout_find(l, text, size, err);

	if (ret)
		return ret;
	if (!l->version)
		ret = no_profile(err);
	else if (l->version < LAYOUT_VERSION_MIN)
		ret = error_text(err, -ENOTSUP,
				 "version %" PRId64 " of the profile format has no shared tables",
				 l->version);
	else
		ret = layout_read_tables(l, err);
	if (ret)
		layout_release(l);
	return ret;
}

void layout_release(struct layout *l)
{
	layout_libs_release(&l->libs);
	vec_release(&l->stacks.columns);
	vec_release(&l->frames.columns);
	vec_release(&l->funcs.columns);
	vec_release(&l->symbols.columns);
	vec_release(&l->resources.columns);
	vec_release(&l->sources.columns);
}
