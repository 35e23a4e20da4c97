/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/made_code.h"

enum maker_kind {
	MAKER_PROGRAM, /* a program, or a library with most of its code */
	MAKER_LIBRARY, /* a compiler that other programs load */
	MAKER_HOST, /* an interpreter that makes no code */
	MAKER_POOL, /* threads that run code made by others */
};

struct code_maker {
	const char *file;
	enum maker_kind kind;
	const char *remedy; /* NULL: none */
};

#define CODE_MAKER(file, kind, remedy) {file, MAKER_##kind, remedy},
static const struct code_maker makers[] = {
#include "lib/model/meaning/code_makers.def"
};
#undef CODE_MAKER

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the path's last component. */
static const char *file_name(const struct profile *p, module_id module)
{
	const char *path = strings_get(&p->strings, p->modules.rows.items[module].path);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct code_maker *find_maker(const struct profile *p, module_id module)
{
	const char *name = file_name(p, module);

	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		size_t size = strlen(makers[i].file);

		if (strncmp(name, makers[i].file, size) == 0 && !is_letter(name[size]))
			return &makers[i];
	}
	return NULL;
}

bool made_code_is(const struct profile *p, module_id id)
{
	const struct module *module;

	if (id == NO_MODULE)
		return false;
	module = &p->modules.rows.items[id];
	if (module->kind == PROFILE_MODULE_ANON)
		return true;
	if (module->kind != PROFILE_MODULE_FILE || module->segments.count)
		return false;
	/* The file was read and is not a program. */
	return module->reason == SYMBOLS_STRIPPED ||
	       text_starts_with(strings_get(&p->strings, module->path), "/memfd:");
}

static bool is_nameless(const struct profile *p, const struct frame *frame)
{
	return frame->kind != PROFILE_FRAME_KERNEL && made_code_is(p, frame->module) &&
	       !profile_frame_is_named(p, frame);
}

/* Returns whether files of the kind generate code. */
static bool makes_code(const struct code_maker *maker)
{
	return maker && (maker->kind == MAKER_PROGRAM || maker->kind == MAKER_LIBRARY);
}

/*
 * Stores, by memory, the first known maker of code that nameless code there calls: other files call
 * LuaJIT's code, but it calls LuaJIT.
 */
static void find_callees(const struct profile *p, module_id *by_memory)
{
	memset(by_memory, 0xff, p->modules.rows.count * sizeof(*by_memory));
	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame], *caller;

		if (stack->parent == NO_STACK || frame->module == NO_MODULE)
			continue;
		caller = profile_frame_of(p, stack->parent);
		if (is_nameless(p, caller) && by_memory[caller->module] == NO_MODULE &&
		    p->modules.rows.items[frame->module].kind == PROFILE_MODULE_FILE &&
		    makes_code(find_maker(p, frame->module)))
			by_memory[caller->module] = frame->module;
	}
}

/* Orc's memory is a file, whose code is called by other libraries, and calls nothing. */
static void find_orc(const struct profile *p, module_id *by_memory)
{
	module_id orc = NO_MODULE;

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		if (p->modules.rows.items[id].kind == PROFILE_MODULE_FILE &&
		    text_starts_with(file_name(p, id), "liborc-"))
			orc = id;
	}
	for (module_id id = 0; id < p->modules.rows.count; id++) {
		if (text_starts_with(file_name(p, id), "orcexec."))
			by_memory[id] = orc;
	}
}

/* Finds the first library with a compiler, in the order of the table. */
static module_id find_guest(const struct profile *p)
{
	const struct code_maker *best = NULL;
	module_id guest = NO_MODULE;

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct code_maker *maker =
			p->modules.rows.items[id].kind == PROFILE_MODULE_FILE ? find_maker(p, id)
									      : NULL;

		if (maker && maker->kind == MAKER_LIBRARY && (!best || maker < best)) {
			best = maker;
			guest = id;
		}
	}
	return guest;
}

/* Returns true for a file that may have generated the code that its frames call. */
static bool may_make(const struct profile *p, module_id module)
{
	const struct code_maker *maker;

	if (p->modules.rows.items[module].kind != PROFILE_MODULE_FILE || made_code_is(p, module) ||
	    is_of_common_library(p, module))
		return false;
	maker = find_maker(p, module);
	return !maker || maker->kind != MAKER_POOL;
}

/* Finds the file that is named like the process of anonymous memory. */
static module_id find_program(const struct profile *p, module_id anon)
{
	const char *name = NULL;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (thread->pid == p->modules.rows.items[anon].pid &&
		    thread->process_name != NO_STRING)
			name = strings_get(&p->strings, thread->process_name);
	}
	for (module_id id = 0; name && id < p->modules.rows.count; id++) {
		if (p->modules.rows.items[id].kind == PROFILE_MODULE_FILE &&
		    strcmp(file_name(p, id), name) == 0)
			return id;
	}
	return NO_MODULE;
}

/* Gives frames without a caller the maker of other code in the same memory. */
static void spread(const struct profile *p, module_id *by_frame)
{
	_cleanup_free_ module_id *by_module = xreallocarray(NULL, p->modules.rows.count + 1,
							    sizeof(*by_module));

	memset(by_module, 0xff, p->modules.rows.count * sizeof(*by_module));
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		module_id module = p->frames.rows.items[i].module;

		if (by_frame[i] != NO_MODULE && by_module[module] == NO_MODULE)
			by_module[module] = by_frame[i];
	}
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		const struct frame *frame = &p->frames.rows.items[i];

		if (by_frame[i] != NO_MODULE || !is_nameless(p, frame))
			continue;
		if (by_module[frame->module] == NO_MODULE)
			by_module[frame->module] = find_program(p, frame->module);
		by_frame[i] = by_module[frame->module];
	}
}

module_id *made_code_find_makers(const struct profile *p)
{
	module_id *by_frame = xreallocarray(NULL, p->frames.rows.count + 1, sizeof(*by_frame));
	_cleanup_free_ module_id *callers = xreallocarray(NULL, p->stacks.rows.count + 1,
							  sizeof(*callers));
	_cleanup_free_ bool *makes = xreallocarray(NULL, p->modules.rows.count + 1, sizeof(*makes));
	_cleanup_free_ module_id *by_memory = xreallocarray(NULL, p->modules.rows.count + 1,
							    sizeof(*by_memory));
	module_id guest = find_guest(p);

	for (module_id id = 0; id < p->modules.rows.count; id++)
		makes[id] = may_make(p, id);
	memset(by_frame, 0xff, p->frames.rows.count * sizeof(*by_frame));
	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];
		module_id caller = stack->parent == NO_STACK ? NO_MODULE : callers[stack->parent];

		callers[i] = frame->module != NO_MODULE && makes[frame->module] ? frame->module
										: caller;
		if (by_frame[stack->frame] == NO_MODULE && is_nameless(p, frame))
			by_frame[stack->frame] = caller;
	}
	find_callees(p, by_memory);
	find_orc(p, by_memory);
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		module_id memory = p->frames.rows.items[i].module;
		const struct code_maker *maker = by_frame[i] == NO_MODULE
							 ? NULL
							 : find_maker(p, by_frame[i]);

		if (maker && maker->kind == MAKER_HOST && guest != NO_MODULE)
			by_frame[i] = guest;
		else if (by_frame[i] != NO_MODULE && !maker && by_memory[memory] != NO_MODULE)
			by_frame[i] = by_memory[memory];
	}
	spread(p, by_frame);
	return by_frame;
}

/* Appends the name of a file without its version: "libnode" for libnode.so.115. */
static void add_name(const struct profile *p, module_id maker, struct strbuf *out)
{
	static const char *const suffixes[] = {".cpython-", ".so", PATH_DELETED};
	const char *name = file_name(p, maker);
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const char *suffix = strstr(name, suffixes[i]);

		if (suffix && suffix > name && (size_t)(suffix - name) < size)
			size = (size_t)(suffix - name);
	}
	strbuf_add(out, name, size);
}

static const char unnamed[] = "unnamed code";

void made_code_describe(const struct profile *p, module_id maker, struct strbuf *out)
{
	if (maker == NO_MODULE) {
		strbuf_adds(out, MADE_AT_RUN_TIME);
		return;
	}
	strbuf_adds(out, MADE_BY);
	add_name(p, maker, out);
}

void made_code_describe_unnamed(const struct profile *p, module_id file, struct strbuf *out)
{
	strbuf_addf(out, "%s of %s", unnamed, file_name(p, file));
}

bool made_code_is_description(const char *name)
{
	return made_code_maker_of(name) || text_starts_with(name, unnamed);
}

const char *made_code_without_file(const char *name)
{
	return text_starts_with(name, unnamed) ? unnamed : MADE_AT_RUN_TIME;
}

void made_code_advise(const struct profile *p, module_id maker, struct strbuf *out)
{
	const struct code_maker *row = maker == NO_MODULE ? NULL : find_maker(p, maker);

	if (!row) {
		strbuf_adds(out, "see \"Code made at run time\" in: man prof-runtimes");
	} else if (row->remedy) {
		strbuf_adds(out, row->remedy);
	} else if (row->kind != MAKER_HOST) {
		add_name(p, maker, out);
		strbuf_adds(out, " cannot name its code");
	}
}

bool is_of_common_library(const struct profile *p, module_id id)
{
	static const char *const names[] = {"libc.so",	   "libc-",	  "libstdc++.so",
					    "libgcc_s.so", "libjemalloc", "libtcmalloc",
					    "libmimalloc", "libm.so",	  "libffi.so"};
	const struct module *module;
	const char *path, *base;

	if (id == NO_MODULE)
		return false;
	module = &p->modules.rows.items[id];
	if (module->kind == PROFILE_MODULE_VDSO)
		return true;
	path = strings_get(&p->strings, module->path);
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	return array_find(names, it, text_starts_with(base, *it));
}
