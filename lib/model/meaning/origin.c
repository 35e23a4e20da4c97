/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/origin.h"

#include "lib/model/meaning/categories.h"

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

#define ORIGIN_UNKNOWN 0xff

/* Parts of paths of source files and of binaries; the first match decides. */
static const struct {
	const char *part;
	bool is_prefix;
	uint8_t origin;
} path_rules[] = {
	{"/site-packages/", false, ORIGIN_PACKAGE},
	{"/dist-packages/", false, ORIGIN_PACKAGE},
	{"/node_modules/", false, ORIGIN_PACKAGE},
	{"/vendor/", false, ORIGIN_PACKAGE},
	/* shiv and pex, which unpack a program and start it. */
	{"/_bootstrap/", false, ORIGIN_PACKAGE},
	{"/.bootstrap/pex/", false, ORIGIN_PACKAGE},
	{"/gems/", false, ORIGIN_PACKAGE},
	{"/.cargo/registry/", false, ORIGIN_PACKAGE},
	{"/.cargo/git/", false, ORIGIN_PACKAGE},
	{"/go/pkg/mod/", false, ORIGIN_PACKAGE},
	{"/.m2/repository/", false, ORIGIN_PACKAGE},
	{"/share/perl5/", false, ORIGIN_PACKAGE},
	{"-linux-gnu/perl5/", false, ORIGIN_PACKAGE},
	{"/site_perl/", false, ORIGIN_PACKAGE},
	{"/vendor_perl/", false, ORIGIN_PACKAGE},
	{"/usr/local/share/perl/", true, ORIGIN_PACKAGE},
	{"/prof-alloc.so", false, ORIGIN_SYSTEM},
	{"/usr/include/", true, ORIGIN_SYSTEM},
	{"/include/c++/", false, ORIGIN_SYSTEM},
	{"/rustc/", true, ORIGIN_RUNTIME},
	{"/rust/deps/", true, ORIGIN_RUNTIME},
	{"/usr/local/go/src/", true, ORIGIN_RUNTIME},
	{"/usr/lib/go-", true, ORIGIN_RUNTIME},
	{"/lib/python2", false, ORIGIN_RUNTIME},
	{"/lib/python3", false, ORIGIN_RUNTIME},
	{"/lib/ruby/", false, ORIGIN_RUNTIME},
	{"/share/perl/", false, ORIGIN_RUNTIME},
	{"/lib/perl5/", false, ORIGIN_RUNTIME},
	{"-linux-gnu/perl", false, ORIGIN_RUNTIME},
	{"<frozen ", true, ORIGIN_RUNTIME},
	{"<internal:", true, ORIGIN_RUNTIME},
	{"node:", true, ORIGIN_RUNTIME},
};

/* Prefixes of names of functions in binaries. */
static const char *const native_names[] = {
	"std::",    "void std::", "__gnu_cxx::", "<std::",  "core::", "<core::", "alloc::",
	"<alloc::", "runtime.",	  "cmd/go/",	 "__libc_", "_start", "_dl_",	 "__GI_",
};

/* The same of executors, which only call the code of others, wherever their own files are. */
static const char *const executor_names[] = {
	"rayon_core::",
	"<rayon_core::",
	"tokio::runtime::",
	"<tokio::runtime::",
};

/* Prefixes of names of functions outside of binaries: Java packages. */
static const struct {
	const char *prefix;
	uint8_t origin;
} managed_names[] = {
	{"java.", ORIGIN_RUNTIME},
	{"javax.", ORIGIN_RUNTIME},
	{"jdk.", ORIGIN_RUNTIME},
	{"sun.", ORIGIN_RUNTIME},
	{"com.sun.", ORIGIN_RUNTIME},
	{"kotlin.", ORIGIN_RUNTIME},
	{"kotlinx.", ORIGIN_RUNTIME},
	{"scala.", ORIGIN_RUNTIME},
	{"clojure.", ORIGIN_RUNTIME},
	{"groovy.", ORIGIN_RUNTIME},
	{"org.codehaus.groovy.", ORIGIN_RUNTIME},
	{"org.jruby.", ORIGIN_RUNTIME},
	{"org.python.", ORIGIN_RUNTIME},
	{"org.graalvm.", ORIGIN_RUNTIME},
	{"org.truffleruby.", ORIGIN_RUNTIME},
	{"com.oracle.truffle.", ORIGIN_RUNTIME},
	{"com.oracle.graal.", ORIGIN_RUNTIME},
	{"org.apache.", ORIGIN_PACKAGE},
	{"org.springframework.", ORIGIN_PACKAGE},
	{"org.hibernate.", ORIGIN_PACKAGE},
	{"org.eclipse.", ORIGIN_PACKAGE},
	{"org.junit.", ORIGIN_PACKAGE},
	{"org.codehaus.", ORIGIN_PACKAGE},
	{"org.jboss.", ORIGIN_PACKAGE},
	{"org.gradle.", ORIGIN_PACKAGE},
	{"org.sonatype.", ORIGIN_PACKAGE},
	{"org.fusesource.", ORIGIN_PACKAGE},
	{"org.jetbrains.", ORIGIN_PACKAGE},
	{"org.slf4j.", ORIGIN_PACKAGE},
	{"org.postgresql.", ORIGIN_PACKAGE},
	{"org.mockito.", ORIGIN_PACKAGE},
	{"net.bytebuddy.", ORIGIN_PACKAGE},
	{"jakarta.", ORIGIN_PACKAGE},
	{"ch.qos.logback.", ORIGIN_PACKAGE},
	{"com.google.inject.", ORIGIN_PACKAGE},
	{"io.undertow.", ORIGIN_PACKAGE},
	{"io.vertx.", ORIGIN_PACKAGE},
	{"io.grpc.", ORIGIN_PACKAGE},
	{"io.micrometer.", ORIGIN_PACKAGE},
	{"io.quarkus.", ORIGIN_PACKAGE},
	{"io.smallrye.", ORIGIN_PACKAGE},
	{"com.mysql.", ORIGIN_PACKAGE},
	{"com.zaxxer.", ORIGIN_PACKAGE},
	{"com.fasterxml.", ORIGIN_PACKAGE},
	{"com.google.common.", ORIGIN_PACKAGE},
	{"io.netty.", ORIGIN_PACKAGE},
	{"reactor.", ORIGIN_PACKAGE},
	{"akka.", ORIGIN_PACKAGE},
};

/* Names of interpreters, which may be followed by digits, dots and dashes. */
static const char *const interpreters[] = {
	"python",  "libpython", "pypy",	  "libpypy", "node",	"libnode",    "ruby",
	"libruby", "java",	"libjvm", "libjli",  "perl",	"libperl",    "php",
	"libphp",  "beam.smp",	"lua",	  "luajit",  "liblua",	"R",	      "libR",
	"deno",	   "bun",	"dotnet", "mono",    "libmono", "libcoreclr",
};

/* Folders of the system's libraries. Programs below them still count as the user's. */
static const char *const system_folders[] = {"/usr/lib", "/lib", "/snap/", "/nix/store/",
					     "/gnu/store/"};

/* Go's standard library, as in builds with -trimpath. */
static const char go_packages[] =
	" archive bufio bytes cmp compress container context crypto database debug embed encoding "
	"errors expvar flag fmt go hash html image index internal io iter log maps math mime net "
	"os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall "
	"testing text time unicode unique unsafe weak ";

static bool is_go_package(const char *path, size_t size)
{
	char word[32];

	if (!size || size > sizeof(word) - 3)
		return false;
	word[0] = ' ';
	memcpy(word + 1, path, size);
	memcpy(word + 1 + size, " ", 2);
	return strstr(go_packages, word);
}

/* True for "sync/atomic.AddInt64" and "sort.Ints", but not for "sort.part.0". */
static bool is_go_function(const char *name)
{
	size_t size = strcspn(name, "/.");

	return (name[size] == '/' || (name[size] && isupper((unsigned char)name[size + 1]))) &&
	       is_go_package(name, size);
}

static uint8_t origin_of_path(const char *path)
{
	for (size_t i = 0; i < sizeof(path_rules) / sizeof(*path_rules); i++) {
		if (path_rules[i].is_prefix ? text_starts_with(path, path_rules[i].part)
					    : strstr(path, path_rules[i].part) != NULL)
			return path_rules[i].origin;
	}
	return text_ends_with(path, ".go") && is_go_package(path, strcspn(path, "/"))
		       ? ORIGIN_RUNTIME
		       : ORIGIN_UNKNOWN;
}

/*
 * Returns whether the function is the code of a script that starts an installed program: what pip
 * and gem put into bin, or the main file of a package or archive. Functions of such a file are its
 * author's.
 */
static bool is_launcher(const char *name, const char *path)
{
	const char *base = strrchr(path, '/'), *folder = base;

	if ((strcmp(name, "<module>") != 0 && strcmp(name, "<main>") != 0) || !base)
		return false;
	while (folder > path && folder[-1] != '/')
		folder--;
	return strcmp(base, "/__main__.py") == 0 ||
	       (text_starts_with(folder, "bin/") && !strchr(base, '.'));
}

static bool is_interpreter(const char *base)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++) {
		const char *end = base + strlen(interpreters[i]);

		if (text_starts_with(base, interpreters[i]) &&
		    (!*end || *end == '.' || *end == '-' || isdigit((unsigned char)*end)))
			return true;
	}
	return false;
}

static bool is_library(const char *base)
{
	const char *so = strstr(base, ".so");

	return so && (!so[3] || so[3] == '.');
}

static bool is_of_system(const char *path)
{
	if (!strchr(path, '/'))
		return true;
	return array_find(system_folders, it, text_starts_with(path, *it));
}

static uint8_t origin_of_module(const struct profile *p, const struct module *module)
{
	const char *path = strings_get(&p->strings, module->path), *base;
	uint8_t origin;

	if (module_is_kernel(module) || module->kind == PROFILE_MODULE_VDSO)
		return ORIGIN_SYSTEM;
	if (module->kind != PROFILE_MODULE_FILE)
		return ORIGIN_OWN;
	if (!*path)
		path = strings_get(&p->strings, module->name);
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	/* Package managers install interpreters, too; extensions of node are named alike. */
	if (is_interpreter(base) && !text_ends_with(base, ".node"))
		return ORIGIN_RUNTIME;
	origin = origin_of_path(path);
	if (origin != ORIGIN_UNKNOWN)
		return origin;
	return is_library(base) && is_of_system(path) ? ORIGIN_SYSTEM : ORIGIN_OWN;
}

static uint8_t origin_of_managed(const char *name)
{
	for (size_t i = 0; i < sizeof(managed_names) / sizeof(*managed_names); i++) {
		if (text_starts_with(name, managed_names[i].prefix))
			return managed_names[i].origin;
	}
	return ORIGIN_OWN;
}

static bool is_of_native_library(const char *name)
{
	/* Rust's main() and threads call the program through it, and it is often inlined there. */
	if (strstr(name, "__rust_begin_short_backtrace"))
		return false;
	return array_find(native_names, it, text_starts_with(name, *it)) ||
	       text_ends_with(name, "@plt") || is_go_function(name);
}

static bool is_of_executor(const char *name)
{
	return array_find(executor_names, it, text_starts_with(name, *it));
}

static uint8_t origin_of(const struct profile *p, const struct func *func, const uint8_t *modules)
{
	const char *name = strings_get(&p->strings, func->name);
	uint8_t origin = ORIGIN_UNKNOWN;

	if (!func->is_named && made_code_maker_of(name))
		return ORIGIN_SYSTEM;
	if (func->file != NO_SOURCE_FILE) {
		const char *path = strings_get(&p->strings,
					       p->source_files.rows.items[func->file].path);

		origin = origin_of_path(path);
		if (origin == ORIGIN_UNKNOWN && is_launcher(name, path))
			origin = ORIGIN_PACKAGE;
	}
	if (func->module == NO_MODULE) {
		if (origin != ORIGIN_UNKNOWN)
			return origin;
		return func->is_named ? origin_of_managed(name) : ORIGIN_SYSTEM;
	}
	/* A system library's file may have any path; templates in a program have the system's. */
	if (modules[func->module] < ORIGIN_PACKAGE)
		return modules[func->module];
	if ((is_of_native_library(name) && origin == ORIGIN_UNKNOWN) || is_of_executor(name))
		return ORIGIN_SYSTEM;
	return modules[func->module] == ORIGIN_PACKAGE || origin == ORIGIN_UNKNOWN
		       ? modules[func->module]
		       : origin;
}

/* Returns the origin of each function, by func_id. */
static uint8_t *origins_of_funcs(const struct profile *p)
{
	uint8_t *modules = xcalloc(p->modules.rows.count + 1, 1);
	uint8_t *origins = xcalloc(p->funcs.rows.count + 1, 1);

	for (size_t i = 0; i < p->modules.rows.count; i++)
		modules[i] = origin_of_module(p, &p->modules.rows.items[i]);
	for (size_t i = 0; i < p->funcs.rows.count; i++)
		origins[i] = origin_of(p, &p->funcs.rows.items[i], modules);
	free(modules);
	return origins;
}

static bool is_category(const struct profile *p, uint8_t category, uint8_t named)
{
	return strcmp(category_name(p, category), categories[named]->name) == 0;
}

/* Returns the best origin for frames of a category whose file is unknown. */
static uint8_t limit_of(const struct profile *p, uint8_t category)
{
	if (is_category(p, category, CATEGORY_KERNEL) || is_category(p, category, CATEGORY_IDLE))
		return ORIGIN_SYSTEM;
	/* R forgets the files of functions, unless it is told to keep them. */
	if (is_category(p, category, CATEGORY_R))
		return ORIGIN_OWN;
	/* Functions of a language that are in no file are built into its runtime. */
	for (uint8_t id = CATEGORY_BEFORE_LANGUAGES + 1; id < CATEGORY_COUNT; id++) {
		if (is_category(p, category, id))
			return ORIGIN_RUNTIME;
	}
	return ORIGIN_OWN;
}

uint8_t *origins_of_frames(const struct profile *p)
{
	_cleanup_free_ struct frame_category *of_frames = categories_of_frames(p);
	_cleanup_free_ uint8_t *of_funcs = origins_of_funcs(p);
	uint8_t *origins = xcalloc(p->frames.rows.count + 1, 1);
	uint8_t limits[UINT8_MAX + 1];

	for (unsigned int i = 0; i < sizeof(limits); i++)
		limits[i] = limit_of(p, (uint8_t)i);
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		const struct frame *frame = &p->frames.rows.items[i];
		uint8_t limit = of_frames[i].category == CATEGORY_OF_CALLER
					? ORIGIN_SYSTEM
					: limits[of_frames[i].category];

		if (frame->func == NO_FUNC || frame->kind == PROFILE_FRAME_LABEL)
			continue;
		origins[i] = of_funcs[frame->func];
		if (limit == ORIGIN_RUNTIME &&
		    p->funcs.rows.items[frame->func].file != NO_SOURCE_FILE)
			continue;
		origins[i] = MIN(origins[i], limit);
	}
	return origins;
}
