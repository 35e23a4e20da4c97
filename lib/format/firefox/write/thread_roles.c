/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/thread_roles.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"

/* Kinds of what the outer functions of a stack say, better ones last. */
enum role_kind {
	ROLE_UNKNOWN, /* they start any thread */
	ROLE_SYSTEM, /* a function of the C library */
	ROLE_NATIVE,
	ROLE_SCRIPT, /* a function of a language that its runtime runs */
	ROLE_POOL,
};

struct stack_role {
	uint8_t kind;
	bool is_module; /* the function has no name: its module stands for it */
	bool is_rooted; /* it begins where threads do, so no frame is cut off */
	uint32_t value; /* string_id of the function's name, or its module's, or row of `pools` */
};

/* Functions of pools, whose threads do anybody's work. */
static const struct {
	const char *part; /* of the function's name */
	const char *file; /* end of its file or library; NULL: any */
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

/* Beginnings of functions that have no caller. */
static const char *const roots[] = {
	"_start", "clone", "__clone", "start_thread", "thread_start", "__libc_start",
};

/* Beginnings of functions that start threads of any program, and also do other things. */
static const char *const starters[] = {
	"std::",
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

/* Ends of scripts that start threads. */
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
	for (size_t i = 0; i < count; i++) {
		if (text_starts_with(name, parts[i]))
			return true;
	}
	return false;
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
	for (size_t i = 0; i < sizeof(starter_files) / sizeof(*starter_files); i++) {
		if (text_ends_with(file, starter_files[i]))
			return true;
	}
	return false;
}

static bool is_c_library(const struct profile *p, const struct func *func)
{
	return func->module != NO_MODULE &&
	       module_name_is_c_library(
		       strings_get(&p->strings, p->modules.rows.items[func->module].name));
}

/* Tells whether threads begin in the function. That of a stripped C library has no name. */
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

/* Tells what is known of a function without a name. */
static struct stack_role role_of_module(const struct profile *p, const struct func *func)
{
	if (func->module == NO_MODULE || is_c_library(p, func))
		return (struct stack_role){.kind = ROLE_UNKNOWN};
	return (struct stack_role){.kind = ROLE_NATIVE,
				   .is_module = true,
				   .value = p->modules.rows.items[func->module].name};
}

/* Tells what a function says by itself. */
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

/* Roles of functions, each found when the first of its frames needs it. */
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

void thread_roles_init(struct thread_roles *roles, const struct profile *p)
{
	size_t count = p->stacks.rows.count;
	struct func_roles funcs = {
		.rows = xcalloc(p->funcs.rows.count + 1, sizeof(*funcs.rows)),
		.is_known = xcalloc(p->funcs.rows.count + 1, sizeof(*funcs.is_known)),
	};

	roles->by_stack = xcalloc(count + 1, sizeof(*roles->by_stack));
	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		struct stack_role *role = &roles->by_stack[i], own;

		if (stack->parent != NO_STACK)
			*role = roles->by_stack[stack->parent];
		else
			role->is_rooted = is_root(p, &p->frames.rows.items[stack->frame]);
		if (role->kind == ROLE_POOL)
			continue;
		own = role_of(&funcs, p, &p->frames.rows.items[stack->frame]);
		/* The outermost function counts, but one of a script more than the runtime's. */
		if (own.kind > role->kind &&
		    (own.kind == ROLE_POOL ? role->kind != ROLE_SCRIPT : role->is_rooted)) {
			own.is_rooted = role->is_rooted;
			*role = own;
		}
	}
	free(funcs.rows);
	free(funcs.is_known);
}

void thread_roles_release(struct thread_roles *roles)
{
	free(roles->by_stack);
	*roles = (struct thread_roles){0};
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
 * "node::(anonymous namespace)::StartIoThread" → "StartIoThread", "main.<locals>.load" → "load". A
 * lambda has nothing but its scope.
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

const char *thread_role(const struct thread_roles *roles, const struct profile *p,
			const struct profile_thread *thread)
{
	struct role_weights weights = {0};
	struct role_weight best = {0};

	samples_for_each(&thread->samples, sample) {
		if (sample->stack != NO_STACK && !sample->event)
			add_weight(&weights, roles->by_stack[sample->stack], sample->weight);
	}
	vec_for_each(&weights.rows, const struct role_weight *, row) {
		if (row->role.kind &&
		    (row->role.kind > best.role.kind || row->weight > best.weight))
			best = *row;
	}
	vec_release(&weights.rows);
	return text_of(p, best.role);
}
