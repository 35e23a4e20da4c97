/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/origin.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/made_code.h"

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
	"std::",
	"void std::",
	"__gnu_cxx::",
	"<std::",
	"core::",
	"<core::",
	"alloc::",
	"<alloc::",
	"runtime.",
	"cmd/go/",
	"__libc_",
	"_start",
	"_dl_",
	"__GI_",
	/* Executors, which only call the code of others. */
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
	{"org.apache.", ORIGIN_PACKAGE},
	{"org.springframework.", ORIGIN_PACKAGE},
	{"org.hibernate.", ORIGIN_PACKAGE},
	{"org.eclipse.", ORIGIN_PACKAGE},
	{"org.junit.", ORIGIN_PACKAGE},
	{"org.codehaus.", ORIGIN_PACKAGE},
	{"org.jboss.", ORIGIN_PACKAGE},
	{"jakarta.", ORIGIN_PACKAGE},
	{"ch.qos.logback.", ORIGIN_PACKAGE},
	{"com.google.inject.", ORIGIN_PACKAGE},
	{"io.undertow.", ORIGIN_PACKAGE},
	{"io.vertx.", ORIGIN_PACKAGE},
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

static uint8_t origin_of(const struct profile *p, const struct func *func, const uint8_t *modules)
{
	const char *name = strings_get(&p->strings, func->name);
	uint8_t origin = ORIGIN_UNKNOWN;

	if (!func->is_named && made_code_maker_of(name))
		return ORIGIN_SYSTEM;
	if (func->file != NO_SOURCE_FILE)
		origin = origin_of_path(
			strings_get(&p->strings, p->source_files.rows.items[func->file].path));
	if (func->module == NO_MODULE) {
		if (origin != ORIGIN_UNKNOWN)
			return origin;
		return func->is_named ? origin_of_managed(name) : ORIGIN_SYSTEM;
	}
	/* A system library's file may have any path; templates in a program have the system's. */
	if (modules[func->module] < ORIGIN_PACKAGE)
		return modules[func->module];
	if (is_of_native_library(name) && origin == ORIGIN_UNKNOWN)
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
