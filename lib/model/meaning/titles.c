/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/titles.h"

#include "lib/model/meaning/thread_rows.h"

#define TEXT_MAX 24 /* maximum in bytes, to be read at a glance */
#define ROLE_MAX 56 /* maximum in bytes of a title that the program provides */
#define ELLIPSIS "\xe2\x80\xa6"

/* Terminated arguments, beginning with the program; empty if unknown. */
struct command_line {
	const char *list;
	size_t size;
};

/* An argument and the number of command lines that contain it. */
struct word {
	const char *text;
	uint32_t count;
	uint32_t last_line; /* last line that contained the word, plus 1 */
};

struct words {
	VEC(struct word) rows;
	struct index index;
	uint32_t line_count; /* lines with known arguments */
};

static bool equal_text(const void *table, uint32_t id, const void *key)
{
	return strcmp(((const struct words *)table)->rows.items[id].text, key) == 0;
}

static uint64_t hash_text(const char *text)
{
	return hash_bytes(text, strlen(text), 0);
}

static struct word *find_word(const struct words *w, const char *text)
{
	uint32_t id = index_find(&w->index, hash_text(text), equal_text, w, text);

	return id == INDEX_NONE ? NULL : &w->rows.items[id];
}

static void count_word(struct words *w, const char *text, uint32_t line)
{
	struct word *word = find_word(w, text);

	if (!word) {
		index_add(&w->index, hash_text(text), (uint32_t)w->rows.count);
		vec_push(&w->rows, (struct word){.text = text});
		word = &vec_last(&w->rows);
	}
	if (word->last_line != line + 1)
		word->count++;
	word->last_line = line + 1;
}

/* Returns the argument after `text`, or NULL. The first call returns the program. */
static const char *next_argument(const struct command_line *line, const char *text)
{
	const char *next = text ? text + strlen(text) + 1 : line->list;

	return (size_t)(next - line->list) < line->size ? next : NULL;
}

static bool names_dependencies(const char *option)
{
	static const char *const options[] = {"-MF", "-MT", "-MQ", "-MD", "-MMD"};

	return array_find(options, it, strcmp(option, *it) == 0);
}

static bool is_folder_itself(const char *text)
{
	return strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
}

/*
 * Returns the first argument contained in at most `limit` lines, or NULL. Skips options; stores the
 * first of them in *option.
 */
static const char *choose_among(const struct words *w, const struct command_line *line,
				uint32_t limit, const char **option)
{
	const char *before = next_argument(line, NULL);

	for (const char *at = before; (at = next_argument(line, at)); before = at) {
		if (!*at || is_folder_itself(at) || find_word(w, at)->count > limit)
			continue;
		if (*at != '-' && !names_dependencies(before))
			return at;
		if (!*option)
			*option = at;
	}
	return NULL;
}

/* Returns the first argument that names a source file, but for those that compilers make. */
static const char *find_source(const struct command_line *line)
{
	static const char suffixes[] =
		" .c .cc .cpp .cxx .C .m .mm .f .f90 .d .rs .go .zig .swift .java .kt .scala .hs "
		".ml .cu .ts .js .mjs .py .rb .pl .php .lua .sh .R .tex ";

	for (const char *at = next_argument(line, NULL); (at = next_argument(line, at));) {
		const char *dot = strrchr(at, '.');
		_cleanup_free_ char *suffix = dot && *at != '-' ? xasprintf(" %s ", dot) : NULL;

		if (suffix && strstr(suffixes, suffix))
			return at;
	}
	return NULL;
}

static const char *choose(const struct words *w, const struct command_line *line)
{
	const char *option = NULL, *argument = NULL;

	if (!line->size)
		return NULL;
	if (w->line_count == 1)
		return find_source(line);
	/* An argument shared by most lines is not informative. */
	argument = choose_among(w, line, w->line_count / 2, &option);
	if (!argument)
		argument = choose_among(w, line, w->line_count - 1, &option);
	return argument ? argument : option;
}

/*
 * Returns the role in a title that a program set in place of its arguments, "worker process" in
 * "nginx: worker process"; NULL for ordinary arguments.
 */
static const char *find_role(const struct command_line *line)
{
	const char *program = next_argument(line, NULL);
	const char *colon = program ? strstr(program, ": ") : NULL;

	return colon && !next_argument(line, program) ? colon + 2 : NULL;
}

/* Returns the size, reduced to a character boundary. */
static size_t clip_end(const char *text, size_t size)
{
	while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static size_t clip_start(const char *text, size_t at)
{
	while (((unsigned char)text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static bool is_path(const char *text)
{
	return *text != '-' && strchr(text, '/') && !text[strcspn(text, " \t\n")];
}

/* Appends a path's name with its last `folders` folders; clips other texts at the end. */
static void shorten(struct strbuf *out, const char *text, unsigned int folders, size_t max)
{
	size_t size = strlen(text), start;
	char *line;

	while (size > 1 && text[size - 1] == '/')
		size--;
	start = is_path(text) && size > 1 ? size : 0;
	while (start && (text[start - 1] != '/' || folders--))
		start--;
	line = xstrndup(text + start, size - start);
	text_to_line(line);
	size -= start;
	strbuf_reset(out);
	if (size <= max) {
		strbuf_add(out, line, size);
	} else if (is_path(text)) {
		strbuf_adds(out, ELLIPSIS);
		strbuf_adds(out, line + clip_start(line, size - (max - 1)));
	} else {
		strbuf_add(out, line, clip_end(line, max - 1));
		strbuf_adds(out, ELLIPSIS);
	}
	free(line);
}

struct choice {
	const char *argument;
	struct strbuf *text;
	size_t line;
};

ORDER(compare_choices, struct choice,
      strcmp(strbuf_text(a->text), strbuf_text(b->text)) ?: strcmp(a->argument, b->argument) ?:
      COMPARE(a->line, b->line))

/* Lengthens equal names: "util.c" in two folders to "a/util.c" and "b/util.c". */
static void lengthen_equals(struct choice *choices, size_t count)
{
	if (count > 1)
		qsort(choices, count, sizeof(*choices), compare_choices);
	for (size_t i = 0, end; i < count; i = end) {
		bool differs = false;

		for (end = i + 1; end < count; end++) {
			if (strcmp(strbuf_text(choices[i].text), strbuf_text(choices[end].text)) !=
			    0)
				break;
			differs |= strcmp(choices[i].argument, choices[end].argument) != 0;
		}
		for (size_t at = i; differs && at < end; at++) {
			if (is_path(choices[at].argument))
				shorten(choices[at].text, choices[at].argument, 1, TEXT_MAX);
		}
	}
}

/*
 * Sets texts[i] to the shortened argument that distinguishes lines[i], "" if there is none: the
 * first argument contained in at most half of the lines, or else the first not contained in all.
 * Options and names of compilers' dependency files are the last choice. A line alone has its source
 * file.
 */
static void distinct_arguments(const struct command_line *lines, size_t count, struct strbuf *texts)
{
	_cleanup_free_ struct choice *choices = xcalloc(count + 1, sizeof(*choices));
	struct words words = {0};
	size_t chosen = 0;

	for (size_t i = 0; i < count; i++) {
		words.line_count += lines[i].size != 0;
		for (const char *at = NULL; (at = next_argument(&lines[i], at));)
			count_word(&words, at, (uint32_t)i);
	}
	for (size_t i = 0; i < count; i++) {
		const char *role = find_role(&lines[i]);
		const char *argument = role ? role : choose(&words, &lines[i]);

		if (!argument)
			continue;
		shorten(&texts[i], argument, 0, role ? ROLE_MAX : TEXT_MAX);
		choices[chosen++] = (struct choice){argument, &texts[i], i};
	}
	lengthen_equals(choices, chosen);
	vec_release(&words.rows);
	index_release(&words.index);
}

/*
 * Names threads by their purpose. By default threads inherit their process's name; the outermost
 * specific function in most of their stacks is more informative.
 */

/* Kinds of roles that outer functions imply, better ones last. */
enum role_kind {
	ROLE_UNKNOWN, /* the function may start any thread */
	ROLE_SYSTEM, /* a function of the C library */
	ROLE_NATIVE,
	ROLE_SCRIPT, /* a function that a language runtime runs */
	ROLE_POOL,
};

struct stack_role {
	uint8_t kind;
	bool is_module; /* the module replaces a function without a name */
	bool is_rooted; /* begins at a thread's first function, so the stack is complete */
	uint32_t value; /* string_id of a function or module name, or row of `pools` */
};

/* Functions of thread pools, whose threads run any task. */
static const struct {
	const char *part; /* part of the function name */
	const char *file; /* end of the file or library name; NULL: any */
	const char *role;
} pools[] = {
	{"PlatformWorkerThread", NULL, "V8 worker"},
	{"DelayedTaskScheduler", NULL, "V8 timer"},
	{"v8::platform::", NULL, "V8 worker"},
	{"worker", "/deps/uv/src/threadpool.c", "libuv worker"},
	{"worker", "/src/threadpool.c", "libuv worker"},
	{"", "/libuv.so.1", "libuv worker"},
	{"runtime.mstart", NULL, "Go M"},
	{"runtime.goexit", NULL, "Go M"},
	{"runtime.mcall", NULL, "Go M"},
	{"runtime.main", NULL, "Go M"},
};

/* Prefixes of functions that have no caller. */
static const char *const roots[] = {
	"_start", "clone", "__clone", "start_thread", "thread_start", "__libc_start",
};

/* Prefixes of functions that start threads of any program, and also have other purposes. */
static const char *const starters[] = {
	"std::",
	"<std::",
	"void std::",
	"execute_native_thread_routine",
	"thread_run",
	"t_bootstrap",
	"pythread_wrapper",
	"core::ops::",
	"alloc::boxed",
	"<alloc::boxed",
	"g_thread_proxy",
	"__rust_begin",
	"boost::",
	"runtime.asm",
	"StubRoutines",
	"call_stub",
	"java.lang.Thread.",
};

/* Suffixes of scripts that start threads. */
static const char *const starter_files[] = {"/threading.py", "/concurrent/futures/thread.py"};

static const char *file_of(const struct profile *p, const struct func *func)
{
	if (func->file != NO_SOURCE_FILE)
		return strings_get(&p->strings, p->source_files.rows.items[func->file].path);
	if (func->module != NO_MODULE)
		return strings_get(&p->strings, p->modules.rows.items[func->module].path);
	return "";
}

static bool starts_with_any(const char *name, const char *const *parts, size_t count)
{
	return items_find(parts, count, it, text_starts_with(name, *it));
}

static bool has_no_caller(const char *name)
{
	return starts_with_any(name, roots, sizeof(roots) / sizeof(*roots));
}

static bool is_starter(const char *name, const char *file)
{
	if (has_no_caller(name) ||
	    starts_with_any(name, starters, sizeof(starters) / sizeof(*starters)))
		return true;
	return array_find(starter_files, it, text_ends_with(file, *it));
}

static bool is_c_library(const struct profile *p, const struct func *func)
{
	return func->module != NO_MODULE &&
	       module_name_is_c_library(
		       strings_get(&p->strings, p->modules.rows.items[func->module].name));
}

/* True if threads begin in the function. In a stripped C library it has no name. */
static bool is_root(const struct profile *p, const struct frame *frame)
{
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];

	if (!func)
		return false;
	return func->is_named ? has_no_caller(strings_get(&p->strings, func->name))
			      : is_c_library(p, func);
}

static bool is_of_pool(size_t row, const char *name, const char *file)
{
	if (!pools[row].file)
		return strstr(name, pools[row].part);
	return text_ends_with(file, pools[row].file) &&
	       (!*pools[row].part || strcmp(name, pools[row].part) == 0);
}

/* Returns the role implied by a function without a name. */
static struct stack_role role_of_module(const struct profile *p, const struct func *func)
{
	if (func->module == NO_MODULE || is_c_library(p, func))
		return (struct stack_role){.kind = ROLE_UNKNOWN};
	return (struct stack_role){.kind = ROLE_NATIVE,
				   .is_module = true,
				   .value = p->modules.rows.items[func->module].name};
}

/* Returns the role implied by the function alone. */
static struct stack_role role_of_func(const struct profile *p, const struct func *func)
{
	const char *name = strings_get(&p->strings, func->name), *file = file_of(p, func);

	for (uint32_t i = 0; i < sizeof(pools) / sizeof(*pools); i++) {
		if (is_of_pool(i, name, file))
			return (struct stack_role){.kind = ROLE_POOL, .value = i};
	}
	if (func->module != NO_MODULE && module_is_kernel(&p->modules.rows.items[func->module]))
		return (struct stack_role){.kind = ROLE_UNKNOWN};
	if (!func->is_named)
		return role_of_module(p, func);
	if (is_starter(name, file))
		return (struct stack_role){.kind = ROLE_UNKNOWN};
	return (struct stack_role){
		.kind = is_c_library(p, func) ? ROLE_SYSTEM : ROLE_NATIVE,
		.value = func->name,
	};
}

/* Roles of functions, computed on demand. */
struct func_roles {
	struct stack_role *rows; /* by func */
	bool *is_known;
};

static struct stack_role role_of(struct func_roles *funcs, const struct profile *p,
				 const struct frame *frame)
{
	struct stack_role role;

	if (frame->func == NO_FUNC || frame->kind == PROFILE_FRAME_LABEL ||
	    frame->kind == PROFILE_FRAME_KERNEL)
		return (struct stack_role){.kind = ROLE_UNKNOWN};
	if (!funcs->is_known[frame->func]) {
		funcs->is_known[frame->func] = true;
		funcs->rows[frame->func] = role_of_func(p, &p->funcs.rows.items[frame->func]);
	}
	role = funcs->rows[frame->func];
	if (frame->language && !role.is_module &&
	    (role.kind == ROLE_SYSTEM || role.kind == ROLE_NATIVE))
		role.kind = ROLE_SCRIPT;
	return role;
}

/* Returns the roles that stacks imply, by stack_id. The caller frees. */
static struct stack_role *roles_of_stacks(const struct profile *p)
{
	size_t count = p->stacks.rows.count;
	struct stack_role *by_stack = xcalloc(count + 1, sizeof(*by_stack));
	struct func_roles funcs = {
		.rows = xcalloc(p->funcs.rows.count + 1, sizeof(*funcs.rows)),
		.is_known = xcalloc(p->funcs.rows.count + 1, sizeof(*funcs.is_known)),
	};

	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		struct stack_role *role = &by_stack[i], own;

		if (stack->parent != NO_STACK)
			*role = by_stack[stack->parent];
		else
			role->is_rooted = is_root(p, &p->frames.rows.items[stack->frame]);
		if (role->kind == ROLE_POOL)
			continue;
		own = role_of(&funcs, p, &p->frames.rows.items[stack->frame]);
		/*
		 * The outermost function decides, except that a script's takes precedence over the
		 * runtime's.
		 */
		if (own.kind > role->kind &&
		    (own.kind == ROLE_POOL ? role->kind != ROLE_SCRIPT : role->is_rooted)) {
			own.is_rooted = role->is_rooted;
			*role = own;
		}
	}
	free(funcs.rows);
	free(funcs.is_known);
	return by_stack;
}

struct role_weight {
	struct stack_role role;
	uint64_t weight;
};

struct role_weights {
	VEC(struct role_weight) rows;
};

static void add_weight(struct role_weights *weights, struct stack_role role, uint64_t weight)
{
	vec_for_each(&weights->rows, struct role_weight *, row) {
		if (row->role.kind == role.kind && row->role.is_module == role.is_module &&
		    row->role.value == role.value) {
			row->weight += weight;
			return;
		}
	}
	if (weights->rows.count < 64)
		vec_push(&weights->rows, (struct role_weight){role, weight});
}

/*
 * Strips scopes: "node::(anonymous namespace)::StartIoThread" → "StartIoThread",
 * "main.<locals>.load" → "load". A lambda counts as a scope.
 */
static const char *without_scope(const char *name)
{
	static const char locals[] = ".<locals>.";

	for (const char *at = name; (at = strstr(at, locals));) {
		at += sizeof(locals) - 1;
		if (*at != '<')
			name = at;
	}
	for (const char *at = name; (at = strstr(at, "::")); at += 2) {
		if (at[2] && !strpbrk(at + 2, "<>()"))
			name = at + 2;
	}
	return name;
}

static const char *text_of(const struct profile *p, struct stack_role role)
{
	if (role.kind == ROLE_UNKNOWN)
		return NULL;
	if (role.kind == ROLE_POOL)
		return pools[role.value].role;
	if (role.is_module)
		return strings_get(&p->strings, role.value);
	return without_scope(strings_get(&p->strings, role.value));
}

/*
 * Returns the thread's role, "worker" or "libuv worker", borrowed from the profile or static; NULL
 * if it is unknown.
 */
static const char *thread_role(const struct stack_role *by_stack, const struct profile *p,
			       const struct profile_thread *thread)
{
	struct role_weights weights = {0};
	struct role_weight best = {0};

	samples_for_each(&thread->samples, sample) {
		if (sample->stack != NO_STACK && !sample->event)
			add_weight(&weights, by_stack[sample->stack], sample->weight);
	}
	vec_for_each(&weights.rows, const struct role_weight *, row) {
		if (row->role.kind &&
		    (row->role.kind > best.role.kind || row->weight > best.weight))
			best = *row;
	}
	vec_release(&weights.rows);
	return text_of(p, best.role);
}

/* Rows to compare, sorted by key. */
struct keyed_row {
	uint64_t key;
	string_id name;
	struct thread_row *row;
};

struct keyed_rows {
	VEC(struct keyed_row) rows;
};

ORDER(compare_rows, struct keyed_row,
      COMPARE(a->key, b->key) ?: COMPARE(a->name, b->name) ?: COMPARE(a->row, b->row))

/* Returns the end of the group that begins at row i. */
static size_t group_end(const struct keyed_rows *k, size_t i)
{
	const struct keyed_row *first = &k->rows.items[i];
	size_t end = i + 1;

	while (end < k->rows.count && k->rows.items[end].key == first->key &&
	       k->rows.items[end].name == first->name)
		end++;
	return end;
}

/* Interns "NAME TEXT" from the first `size` bytes of the name. */
static string_id join(struct string_overlay *strings, string_id name, size_t size, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf title = {0};

	strbuf_add(&title, string_overlay_get(strings, name), size);
	strbuf_addf(&title, " %s", text);
	return string_overlay_intern_sized(strings, title.text, title.size);
}

/* Programs also set the process's name to their title, truncated: "gunicorn: worke". */
static size_t size_before_role(const char *name, const char *title)
{
	const char *colon = strstr(name, ": ");

	return colon && text_starts_with(title, name) ? (size_t)(colon + 1 - name) : strlen(name);
}

/* Scripts are called by their files; the kernel cuts names off. */
static bool is_file_of(const char *file, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(file, name, size) && (size == KERNEL_NAME_MAX || !file[size]);
}

static void name_processes(const struct keyed_row *rows, size_t count,
			   struct string_overlay *strings)
{
	_cleanup_free_ struct command_line *lines = xcalloc(count, sizeof(*lines));
	_cleanup_free_ struct strbuf *distinct = xcalloc(count, sizeof(*distinct));

	for (size_t i = 0; i < count; i++) {
		lines[i].list = string_overlay_get(strings, rows[i].row->arguments);
		lines[i].size = string_overlay_size(strings, rows[i].row->arguments);
	}
	distinct_arguments(lines, count, distinct);
	for (size_t i = 0; i < count; i++) {
		if (distinct[i].size &&
		    !is_file_of(distinct[i].text, string_overlay_get(strings, rows[i].name)))
			rows[i].row->process_title =
				join(strings, rows[i].name,
				     size_before_role(string_overlay_get(strings, rows[i].name),
						      lines[i].list),
				     distinct[i].text);
		strbuf_release(&distinct[i]);
	}
}

/* Gives a process's title to its main thread's row. */
static void compare_processes(struct thread_rows *r)
{
	struct keyed_rows mains = {0};

	vec_for_each(&r->list, struct thread_row *, row) {
		if (row->is_main && string_overlay_size(r->strings, row->process_name))
			vec_push(&mains.rows, (struct keyed_row){0, row->process_name, row});
	}
	vec_sort(&mains.rows, compare_rows);
	for (size_t i = 0, end; i < mains.rows.count; i = end) {
		end = group_end(&mains, i);
		if (mains.rows.count > 1)
			name_processes(&mains.rows.items[i], end - i, r->strings);
	}
	vec_release(&mains.rows);
}

/*
 * Names threads by role if they only have their process's name. Numbers after the name distinguish
 * equal roles.
 */
static void name_by_roles(struct thread_rows *r)
{
	_cleanup_free_ struct stack_role *by_stack = NULL;

	vec_for_each(&r->list, struct thread_row *, row) {
		const struct profile_thread *thread =
			&r->profile->threads.rows.items[r->members.items[row->first]];
		const char *role;

		if (row->is_main || row->is_merged || row->name != row->process_name)
			continue;
		if (!by_stack)
			by_stack = roles_of_stacks(r->profile);
		role = thread_role(by_stack, r->profile, thread);
		if (role)
			row->name = row->title = string_overlay_intern(r->strings, role);
	}
}

/* Names the main thread after its process, and adds tids to other threads with equal names. */
static void name_threads(const struct keyed_row *rows, size_t count, struct string_overlay *strings)
{
	for (size_t i = 0; i < count; i++) {
		struct thread_row *row = rows[i].row;
		char tid[16];

		if (row->is_main) {
			if (row->name == row->process_name)
				row->title = row->process_title;
			continue;
		}
		snprintf(tid, sizeof(tid), "%" PRIu32, row->tid);
		if (count > 1 && string_overlay_size(strings, row->name))
			row->title = join(strings, row->name,
					  string_overlay_size(strings, row->name), tid);
	}
}

/* Copies the title of the main thread to all rows of a process, which are sorted together. */
static void spread_process(const struct keyed_row *rows, size_t count)
{
	const struct thread_row *main_row = NULL;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].row->is_main)
			main_row = rows[i].row;
	}
	for (size_t i = 0; main_row && i < count; i++) {
		if (rows[i].row->process_name == main_row->process_name)
			rows[i].row->process_title = main_row->process_title;
	}
}

static void compare_threads(struct thread_rows *r)
{
	struct keyed_rows all = {0};
	size_t first = 0;

	vec_for_each(&r->list, struct thread_row *, row)
		vec_push(&all.rows, (struct keyed_row){(uint64_t)row->pid << 32 | row->incarnation,
						       row->name, row});
	vec_sort(&all.rows, compare_rows);
	for (size_t i = 0, end; i < all.rows.count; i = end) {
		end = group_end(&all, i);
		name_threads(&all.rows.items[i], end - i, r->strings);
		if (end < all.rows.count && all.rows.items[end].key == all.rows.items[i].key)
			continue;
		spread_process(&all.rows.items[first], end - first);
		first = end;
	}
	vec_release(&all.rows);
}

/* Appends its share of the total CPU time to the title of a merged row: "cc1 × 180, 82 %". */
static void add_shares(struct thread_rows *r)
{
	double all = 0;

	vec_for_each(&r->list, const struct thread_row *, row)
		all += (double)row->cpu_ns;
	vec_for_each(&r->list, struct thread_row *, row) {
		double share = all > 0 ? 100 * (double)row->cpu_ns / all : 0;
		_cleanup_free_ char *title = NULL;

		if (!row->is_merged)
			continue;
		title = xasprintf("%s, %.*f %%", string_overlay_get(r->strings, row->name),
				  share < 10, share);
		row->title = row->process_title = string_overlay_intern(r->strings, title);
	}
}

/* Adds labels, as in "nginx (1a2b3c4d5e6f)", which displays show next to the pid. */
static void add_labels(struct thread_rows *r)
{
	vec_for_each(&r->list, struct thread_row *, row) {
		_cleanup_free_ char *title = NULL;

		if (!string_overlay_size(r->strings, row->process_label))
			continue;
		title = xasprintf("%s (%s)", string_overlay_get(r->strings, row->process_title),
				  string_overlay_get(r->strings, row->process_label));
		row->process_title = string_overlay_intern(r->strings, title);
	}
}

static void name_by_id(struct string_overlay *strings, string_id *title, const char *kind,
		       uint32_t id)
{
	char text[32];

	if (string_overlay_size(strings, *title))
		return;
	snprintf(text, sizeof(text), "%s %" PRIu32, kind, id);
	*title = string_overlay_intern(strings, text);
}

void thread_rows_title(struct thread_rows *r)
{
	compare_processes(r);
	name_by_roles(r);
	compare_threads(r);
	add_shares(r);
	add_labels(r);
	vec_for_each(&r->list, struct thread_row *, row) {
		name_by_id(r->strings, &row->title, "tid", row->tid);
		name_by_id(r->strings, &row->process_title, "pid", row->pid);
	}
}

void thread_titles_find(struct thread_titles *t, const struct profile *p)
{
	size_t count = p->threads.rows.count + 1;
	struct thread_rows rows;

	*t = (struct thread_titles){
		.strings.base = &p->strings,
		.threads = xcalloc(count, sizeof(*t->threads)),
		.processes = xcalloc(count, sizeof(*t->processes)),
	};
	thread_rows_init(&rows, p, &t->strings);
	thread_rows_title(&rows);
	vec_for_each(&rows.list, const struct thread_row *, row) {
		thread_id id = rows.members.items[row->first];

		t->threads[id] = row->title;
		t->processes[id] = row->process_title;
	}
	thread_rows_release(&rows);
}

void thread_titles_release(struct thread_titles *t)
{
	string_overlay_release(&t->strings);
	free(t->threads);
	free(t->processes);
	*t = (struct thread_titles){0};
}

const char *thread_title(const struct thread_titles *t, thread_id id)
{
	return string_overlay_get(&t->strings, t->threads[id]);
}

const char *process_title(const struct thread_titles *t, thread_id id)
{
	return string_overlay_get(&t->strings, t->processes[id]);
}

char *thread_title_whole(const struct thread_titles *t, thread_id id)
{
	const char *thread = thread_title(t, id), *process = process_title(t, id);
	size_t size = strlen(thread);

	/* The process's title may end in a label. */
	if (strncmp(process, thread, size) == 0 && (!process[size] || process[size] == ' '))
		return xstrdup(thread);
	return xasprintf("%s – %s", thread, process);
}
