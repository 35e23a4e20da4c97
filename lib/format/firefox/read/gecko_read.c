/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/firefox_read.h"

#include "lib/format/firefox/read/cells.h"
#include "lib/format/firefox/read/read_tables.h"
#include "lib/model/meaning/categories.h"

/*
 * Tables of a thread in a Gecko profile. A frame is a string there: an address, "name (in
 * library)", "function (file:line:column)[source]", or any label.
 */

enum { LOCATION, LINE, CATEGORY, SUBCATEGORY };
static const char *const frame_columns[] = {"location", "line", "category", "subcategory", NULL};

enum { PREFIX, FRAME };
static const char *const stack_columns[] = {"prefix", "frame", NULL};

/* A row of either table; -1: not a number. */
struct own_row {
	int64_t at[4];
};

struct own_rows {
	VEC(struct own_row) rows;
};

static void add_row(void *ctx)
{
	struct own_rows *of = ctx;

	vec_push(&of->rows, (struct own_row){{-1, -1, -1, -1}});
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct own_rows *of = ctx;

	of->rows.items[row].at[column] = cell_or_minus_one(s, INT64_MAX);
}

static const struct own_lib *find_lib(const struct own_libs *libs, uint64_t address)
{
	size_t count = vec_count_front(&libs->rows, it, it->start <= address);

	/* A library inside another one is unexpected. */
	if (!count || address >= libs->rows.items[count - 1].end)
		return NULL;
	return &libs->rows.items[count - 1];
}

static bool place_address(struct import *r, const char *location, struct func *func,
			  struct frame *frame)
{
	const char *at = location + 2, *end = location + strlen(location);
	const struct own_lib *lib;
	uint64_t address;

	if (!text_starts_with(location, "0x"))
		return false;
	if (!text_scan_hex(&at, end, &address) || at != end)
		return true;
	lib = find_lib(&r->own.libs, address);
	if (!lib)
		return true;
	func->module = frame->module = lib->module;
	frame->offset = address - lib->start + lib->offset;
	return true;
}

/* Returns the part of the text in trailing parentheses; NULL without them. */
static char *last_parentheses(char *text)
{
	char *open = strrchr(text, '(');
	size_t size = strlen(text);

	if (!open || size < 2 || text[size - 1] != ')' || open == text || open[-1] != ' ')
		return NULL;
	return open + 1;
}

/* Cuts the suffixes " + 1234" and " (file:34)" after the library. */
static void cut_offset(char *text)
{
	char *plus = strstr(text, ") + "), *open;

	if (plus && plus[4] && !plus[4 + strspn(plus + 4, "0123456789")])
		plus[1] = '\0';
	open = last_parentheses(text);
	if (open && strchr(open, ':') && open > text + 2 && open[-3] == ')')
		open[-2] = '\0';
}

/* Parses "name (in library)". */
static bool place_library(struct import *r, const char *location, struct func *func,
			  struct frame *frame)
{
	static const char thunk[] = "non-virtual thunk to ";
	_cleanup_free_ char *text = xstrdup(location);
	struct strings *strings = &r->profile->strings;
	struct layout_lib lib = {.debug_path = "", .arch = ""};
	const char *name = text;
	char *inside, *slash;

	cut_offset(text);
	inside = last_parentheses(text);
	if (!inside || !text_starts_with(inside, "in "))
		return false;
	inside[strlen(inside) - 1] = '\0';
	inside[-2] = '\0';
	if (text_starts_with(name, thunk))
		name += strlen(thunk);
	lib.name = lib.path = inside + strlen("in ");
	slash = strrchr(inside, '/');
	if (slash && slash[1])
		lib.name = slash + 1;
	func->name = strings_intern(strings, name);
	func->module = frame->module = own_tables_module(r, &lib);
	return true;
}

/* Cuts "[5]" off the end of the text and returns it, the row of a source; -1 without it. */
static int64_t cut_source(char *text)
{
	char *open = strrchr(text, '[');
	size_t size = strlen(text);
	uint64_t row;

	if (!open || text[size - 1] != ']')
		return -1;
	text[size - 1] = '\0';
	if (!text_to_u64(open + 1, 10, &row) || row > UINT32_MAX) {
		text[size - 1] = ']';
		return -1;
	}
	*open = '\0';
	return (int64_t)row;
}

static string_id source_name(struct import *r, int64_t row, char *uri)
{
	if (row >= 0 && (size_t)row < r->own.sources.count &&
	    r->own.sources.items[row] != NO_STRING)
		return r->own.sources.items[row];
	return strings_intern(&r->profile->strings, own_script_uri(uri));
}

/* Parses "function (file:line:column)[source]"; without a function: the whole script. */
static bool place_script(struct import *r, const char *location, struct func *func)
{
	_cleanup_free_ char *text = xstrdup(location), *root = NULL;
	int64_t source = cut_source(text);
	struct strings *strings = &r->profile->strings;
	char *inside = last_parentheses(text), *uri = inside ? inside : text;
	uint32_t number = 0;
	string_id name;

	if (inside)
		inside[strlen(inside) - 1] = '\0';
	if (!own_cut_number(uri, &func->line))
		return false;
	if (own_cut_number(uri, &number)) {
		func->column = func->line;
		func->line = number;
	}
	name = source_name(r, source, uri);
	func->file = source_files_intern(&r->profile->source_files, name);
	func->is_js = true;
	if (inside) {
		inside[-2] = '\0';
		func->name = strings_intern(strings, text);
	} else {
		root = xasprintf("(root scope) %s", strings_get(strings, name));
		func->name = strings_intern(strings, root);
	}
	return true;
}

static void locate(struct import *r, string_id location, struct frame *frame)
{
	_cleanup_free_ char *text = xstrdup(strings_get(&r->profile->strings, location));
	struct func func = {.name = location, .module = NO_MODULE, .file = NO_SOURCE_FILE};
	struct func plain = func;

	plain.name = own_label(r, location);
	if (!place_address(r, text, &func, frame) && !place_library(r, text, &func, frame) &&
	    !place_script(r, text, &func))
		func = plain;
	func.is_named = !cells_is_synthetic(strings_get(&r->profile->strings, func.name));
	frame->func = funcs_intern(&r->profile->funcs, &func);
}

static int add_frame(struct import *r, const struct own_row *cells, struct error *err)
{
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL};

	if (cells->at[LOCATION] < 0 || (size_t)cells->at[LOCATION] >= r->string_count)
		return error_text(err, -EBADMSG, "frameTable.location is out of range");
	locate(r, r->strings[cells->at[LOCATION]], &frame);
	if (cells->at[LINE] > 0 && cells->at[LINE] <= PLACE_MAX)
		frame.line = (uint32_t)cells->at[LINE];
	if (r->profile->categories.count)
		frame.category = own_category(r, cells->at[CATEGORY]);
	if (frame.category != CATEGORY_OF_CALLER && cells->at[SUBCATEGORY] > 0 &&
	    cells->at[SUBCATEGORY] <= UINT8_MAX)
		frame.subcategory = (uint8_t)cells->at[SUBCATEGORY];
	import_categorize(r, &frame);
	own_frames_add(r, &frame, true);
	return 0;
}

static int add_stack(struct import *r, const struct own_row *cells, size_t row, struct error *err)
{
	const struct own_stack stack = {cells->at[PREFIX], cells->at[FRAME], -1, -1};

	return own_stacks_add(r, row, &stack, err);
}

static int read_rows(const struct import *r, struct span span, const char *const *columns,
		     struct own_rows *rows, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, span);
	const struct grid_reader reader = {columns, add_row, read_value, NULL, rows};
	struct grid grid;

	vec_clear(&rows->rows);
	grid_read(&grid, &s, &reader);
	return s.failed ? error_text(err, -EBADMSG, "a thread's tables are damaged at byte %zu",
				     s.at)
			: 0;
}

static int add_tables(struct import *r, struct span frames, struct span stacks,
		      struct own_rows *rows, struct error *err)
{
	int ret = read_rows(r, frames, frame_columns, rows, err);

	vec_clear(&r->own.frames);
	for (size_t i = 0; i < rows->rows.count && !ret; i++)
		ret = add_frame(r, &rows->rows.items[i], err);
	if (!ret)
		ret = read_rows(r, stacks, stack_columns, rows, err);
	if (ret)
		return ret;
	own_stacks_begin(r, rows->rows.count);
	for (size_t i = 0; i < rows->rows.count && !ret; i++)
		ret = add_stack(r, &rows->rows.items[i], i, err);
	return ret;
}

static int gecko_read_tables(struct import *r, struct json_cursor s, struct error *err)
{
	static const char *const names[] = {"stringTable", "frameTable", "stackTable", NULL};
	struct span parts[3] = {{0}};
	struct own_rows rows = {0};
	int ret;

	json_cursor_find(s, names, parts);
	if (!parts[0].end || !parts[2].end)
		return error_text(err, -EBADMSG, "a thread has no stringTable or no stackTable");
	if (!parts[1].end)
		return error_text(err, -EBADMSG, "a thread has no frameTable");
	s = json_cursor_within(&r->layout.cursor, parts[0]);
	ret = own_strings_read(r, &s, err) ?: add_tables(r, parts[1], parts[2], &rows, err);
	vec_release(&rows.rows);
	return ret;
}

/*
 * Profiles written by Firefox and "perf script report gecko": tables by rows, separate for each
 * thread, and nested processes, each with its own clock. Threads, samples and markers are read as
 * in a processed profile.
 */

#define GECKO_VERSION_MIN 3
#define GECKO_CATEGORY_LIST 11
#define PROCESSES_MAX 65536

/* A process, whose object may be a string within another one. */
struct process {
	struct json_cursor cursor; /* cursor over the whole text */
	struct span object;
	char *text; /* owned; NULL: part of the file's text */
	unsigned int depth;
	struct span meta, libs, threads, processes, counters, overhead, log, sources;
	int64_t shift_ns;
	uint32_t pid;
	bool has_main;
};

struct processes {
	struct import *r;
	VEC(struct process) rows; /* in the order of the front-end */
};

static int damaged(const struct json_cursor *s, struct error *err)
{
	return error_text(err, -EBADMSG, "invalid JSON at byte %zu", s->at);
}

static int no_gecko(const char *missing, struct error *err)
{
	return error_text(err, -EBADMSG, "not a profile of the Firefox Profiler: %s", missing);
}

static int find_members(struct process *p, struct error *err)
{
	struct json_cursor s = json_cursor_within(&p->cursor, p->object);
	struct span value;

	if (json_cursor_peek(&s) != '{')
		return no_gecko("not an object", err);
	json_for_each_member(&s, key) {
		struct span *to = span_is(&s, key, "meta")		 ? &p->meta
				  : span_is(&s, key, "libs")		 ? &p->libs
				  : span_is(&s, key, "threads")		 ? &p->threads
				  : span_is(&s, key, "processes")	 ? &p->processes
				  : span_is(&s, key, "counters")	 ? &p->counters
				  : span_is(&s, key, "profilerOverhead") ? &p->overhead
				  : span_is(&s, key, "profilingLog")	 ? &p->log
				  : span_is(&s, key, "sources")		 ? &p->sources
				  : span_is(&s, key, "profile")		 ? &p->object
									 : NULL;

		if (json_cursor_value(&s, &value) && to)
			*to = value;
	}
	return s.failed ? damaged(&s, err) : 0;
}

/* A panel of the browser's tools wraps profiles: {"profile": {…}}. */
static int open_process(struct process *p, struct error *err)
{
	int ret = find_members(p, err);

	if (!ret && !p->meta.end)
		ret = find_members(p, err);
	if (!ret && (!p->meta.end || !p->threads.end))
		ret = no_gecko(p->meta.end ? "no \"threads\"" : "no \"meta\"", err);
	return ret;
}

/* Adds the process whose object is in a string. */
static void add_text(struct processes *all, struct json_cursor *s, unsigned int depth)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct process p = {.depth = depth};

	if (!json_cursor_string(s, &text))
		return;
	p.text = xmalloc(text.size + 1);
	memcpy(p.text, strbuf_text(&text), text.size + 1);
	json_cursor_init(&p.cursor, p.text, text.size);
	p.object.end = text.size;
	vec_push(&all->rows, p);
}

/* Adds the processes of a list; up to version 4, they are strings in the list of threads. */
static void add_list(struct processes *all, size_t parent, struct span span, bool are_texts)
{
	struct process of = all->rows.items[parent];
	struct json_cursor s = json_cursor_within(&of.cursor, span);

	json_for_each_element_if_any(&s, i) {
		struct process p = {.cursor = of.cursor, .depth = of.depth + 1};

		if (all->rows.count == PROCESSES_MAX || of.depth >= JSON_CURSOR_DEPTH_MAX)
			return;
		if (are_texts && json_cursor_peek(&s) == '"') {
			add_text(all, &s, of.depth + 1);
		} else if (!are_texts && json_cursor_peek(&s) == '{' &&
			   json_cursor_value(&s, &p.object)) {
			vec_push(&all->rows, p);
		}
	}
}

static int find_processes(struct processes *all, struct error *err)
{
	int ret = 0;

	for (size_t i = 0; i < all->rows.count && !ret; i++) {
		ret = open_process(&all->rows.items[i], err);
		if (ret)
			break;
		add_list(all, i, all->rows.items[i].threads, true);
		add_list(all, i, all->rows.items[i].processes, false);
	}
	return ret;
}

/* Reads one time of meta, ns; 0: missing. */
static uint64_t find_time(const struct process *p, const char *name)
{
	struct json_cursor s = json_cursor_within(&p->cursor, p->meta);
	uint64_t time = 0;

	json_for_each_member_if_any(&s, key) {
		if (span_is(&s, key, name))
			time = import_time(&s);
	}
	return time;
}

ORDER(compare_libs, struct own_lib, COMPARE(a->start, b->start))

/* Up to version 3, the list is a string. */
static int read_libs(struct import *r, const struct process *p, struct error *err)
{
	struct json_cursor s = json_cursor_within(&p->cursor, p->libs);
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct json_cursor inside;
	int ret = 0;

	vec_clear(&r->own.libs.rows);
	if (p->libs.end && json_cursor_peek(&s) == '"' && json_cursor_string(&s, &text)) {
		json_cursor_init(&inside, strbuf_text(&text), text.size);
		ret = own_libs_read(r, &inside, err);
	} else if (p->libs.end && json_cursor_peek(&s) == '[') {
		ret = own_libs_read(r, &s, err);
	}
	vec_sort(&r->own.libs.rows, compare_libs);
	return ret;
}

static void add_source(void *ctx)
{
	struct import *r = ctx;

	vec_push(&r->own.sources, NO_STRING);
}

static void read_source(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct import *r = ctx;

	r->own.sources.items[row] = import_string(r, s);
}

static void read_sources(struct import *r, const struct process *p)
{
	static const char *const names[] = {"filename", NULL};
	const struct grid_reader reader = {names, add_source, read_source, NULL, r};
	struct json_cursor s = json_cursor_within(&p->cursor, p->sources);
	struct grid grid;

	vec_clear(&r->own.sources);
	if (p->sources.end && json_cursor_peek(&s) == '{')
		grid_read(&grid, &s, &reader);
}

/*
 * The end of a process comes from meta, its pid from its main thread, or else from its first one.
 */
static void finish_process(struct import *r, struct process *p, thread_id first)
{
	struct threads *threads = &r->profile->threads;
	uint64_t shutdown = find_time(p, "shutdownTime");

	for (thread_id id = first; id < threads->rows.count; id++) {
		struct profile_thread *thread = threads_get(threads, id);

		if (shutdown)
			thread->process_end = import_moment(r, shutdown);
		if (id == first || (thread->is_main && !p->has_main))
			p->pid = thread->pid;
		p->has_main |= thread->is_main;
	}
}

/* Makes the parts of a process current for the readers of files. */
static void enter_process(struct import *r, const struct process *p)
{
	r->layout.cursor = p->cursor;
	r->layout.meta = p->meta;
	r->layout.threads = p->threads;
	r->layout.counters = p->counters;
	r->layout.schemas = (struct span){0};
	r->shift_ns = p->shift_ns;
}

static int read_process(struct processes *all, size_t row, struct error *err)
{
	struct import *r = all->r;
	struct process *p = &all->rows.items[row];
	uint64_t root = find_time(&all->rows.items[0], "startTime"),
		 own = find_time(p, "startTime");
	thread_id first = (thread_id)r->profile->threads.rows.count;
	int ret;

	if (root && own)
		p->shift_ns = (int64_t)(own - root);
	enter_process(r, p);
	ret = layout_read_meta(&r->layout, err);
	if (!ret && !row)
		ret = import_meta(r, err);
	if (!ret && r->version < GECKO_CATEGORY_LIST)
		ret = import_old_categories(r, err);
	if (!ret && !row)
		import_old_schemas(r);
	import_schemas(r);
	if (!ret)
		ret = read_libs(r, p, err);
	read_sources(r, p);
	r->process_pid = (uint32_t)row + 1;
	if (!ret)
		ret = import_threads(r, err);
	if (!ret)
		finish_process(r, p, first);
	return ret ? error_wrap(err, "process %zu", row), ret : 0;
}

static int read_version(struct import *r, const struct process *p, struct error *err)
{
	struct json_cursor s = json_cursor_within(&p->cursor, p->meta);

	if (json_cursor_peek(&s) != '{')
		return no_gecko("\"meta\" is not an object", err);
	json_for_each_member(&s, key) {
		if (span_is(&s, key, "version") && !import_integer(&s, &r->version))
			return no_gecko("\"version\" is not a number", err);
	}
	if (r->version < GECKO_VERSION_MIN)
		return error_text(err, -ENOTSUP,
				  "version %" PRId64
				  " of the Gecko format is too old: prof reads %d and newer",
				  r->version, GECKO_VERSION_MIN);
	return 0;
}

static int read_counters(struct processes *all, struct error *err)
{
	int ret = 0;

	vec_for_each(&all->rows, const struct process *, p) {
		if (ret || !p->pid)
			continue;
		enter_process(all->r, p);
		all->r->process_pid = p->pid;
		ret = import_counters(all->r, err);
	}
	return ret;
}

static int read_file(struct processes *all, const char *text, size_t size, struct error *err)
{
	_cleanup_free_ struct json_ends *ends = xcalloc(1, sizeof(*ends));
	struct process root = {.object = {0, size}};
	struct import *r = all->r;
	struct json_cursor s;
	int ret;

	json_cursor_init(&root.cursor, text, size);
	root.cursor.ends = ends;
	s = root.cursor;
	json_cursor_skip(&s);
	if (!json_cursor_end(&s))
		return damaged(&s, err);
	vec_push(&all->rows, root);
	ret = find_processes(all, err) ?: read_version(r, &all->rows.items[0], err);
	for (size_t i = 0; i < all->rows.count && !ret; i++)
		ret = read_process(all, i, err);
	if (!ret)
		ret = import_finish(r, err);
	if (!ret)
		ret = read_counters(all, err);
	import_set_range(r);
	return ret;
}

int gecko_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err)
{
	struct import_counts own;
	struct import r = {
		.counts = counts ? counts : &own,
		.profile = profile_new(),
		.read_own_tables = gecko_read_tables,
		.is_gecko = true,
	};
	struct processes all = {.r = &r};
	int ret;

	*r.counts = (struct import_counts){0};
	ret = read_file(&all, text, size, err);
	if (!ret)
		*p = steal(r.profile);
	import_release(&r);
	vec_for_each(&all.rows, struct process *, process)
		free(process->text);
	vec_release(&all.rows);
	return ret;
}

static bool has_member(struct json_cursor s, const char *name)
{
	json_for_each_member_if_any(&s, key) {
		if (span_is(&s, key, name))
			return true;
	}
	return false;
}

/* Among formats with strings in arrays, only old processed profiles lack a version. */
bool gecko_matches(const char *text, size_t size)
{
	bool is_processed = false;
	struct json_cursor s;

	json_cursor_init(&s, text, size);
	if (json_cursor_peek(&s) != '{')
		return false;
	for (struct span key = {0}; !is_processed && json_cursor_member(&s, &key);) {
		if (span_is(&s, key, "profile"))
			return json_cursor_peek(&s) == '{';
		if (span_is(&s, key, "meta"))
			is_processed = !has_member(s, "version") ||
				       has_member(s, "preprocessedProfileVersion");
		else if (span_is(&s, key, "threads"))
			return json_cursor_peek(&s) != '[' || !json_cursor_element(&s, 0) ||
			       !has_member(s, "stringArray");
	}
	return false;
}
