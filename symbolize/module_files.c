/* SPDX-License-Identifier: MIT */
#include "symbolize/module_files.h"

#include <pthread.h>

#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/code_dump.h"
#include "lib/code/binary/debug_sections.h"
#include "lib/code/binary/paged_section.h"
#include "lib/model/tables/modules.h"
#include "symbolize/elf/symbol_table.h"
#include "symbolize/kernel/kernel_files.h"

/* The possible paths of a unit's .dwo file. */

/*
 * Returns possible path number `place` (from 0) of the file called `name` by a skeleton in the file
 * `base` (NULL: unknown), in the folder `dir` (NULL: none); the caller frees it. Returns NULL with
 * *ret -ENOENT if there is no such path, -ERANGE if there are no more.
 */
static char *split_path(const char *base, unsigned int place, const char *dir, const char *name,
			int *ret)
{
	const char *slash = base ? strrchr(base, '/') : NULL, *last = strrchr(name, '/');
	int base_size = slash ? (int)(slash - base) : 0;

	*ret = -ENOENT;
	switch (place) {
	case 0:
		if (*name == '/')
			return xstrdup(name);
		return slash ? xasprintf("%.*s/%s", base_size, base, name) : NULL;
	case 1:
		if (*name == '/' || !dir)
			return NULL;
		if (*dir == '/')
			return xasprintf("%s/%s", dir, name);
		return slash ? xasprintf("%.*s/%s/%s", base_size, base, dir, name) : NULL;
	case 2:
		return slash && last ? xasprintf("%.*s%s", base_size, base, last) : NULL;
	default:
		*ret = -ERANGE;
		return NULL;
	}
}

/* Returns the reason of the check that got further. */
static int worse_or(int before, int failure)
{
	static const int order[] = {-ENOENT, -EACCES, -ESTALE};

	for (size_t i = sizeof(order) / sizeof(*order); i-- > 0;) {
		if (before == order[i] || failure == order[i])
			return order[i];
	}
	return -ENOENT;
}

/* Reads the id of a dump, which contains generated code and is not an ELF file. */
static bool take_dump_id(struct binary_summary *summary, int fd)
{
	struct code_dump_head head;

	if (!code_dump_head_read(&head, fd))
		return false;
	memcpy(summary->build_id, head.id, sizeof(head.id));
	summary->build_id_size = sizeof(head.id);
	return true;
}

/* Takes ownership of `opened`. */
static int check_identity(const struct module_search *search, int opened, const char *path)
{
	_cleanup_close_ int fd = opened;
	struct binary_summary summary = {0};
	bool is_same;

	if (fd == -EPERM || fd == READERS_REFUSED)
		return -EACCES;
	if (fd < 0)
		return fd;
	if (binary_summarize(fd, &summary, NULL) && !take_dump_id(&summary, fd))
		return -ENOENT;
	is_same = summary.build_id_size == search->build_id_size &&
		  (search->build_id_size
			   ? !memcmp(summary.build_id, search->build_id, search->build_id_size)
			   : binary_contents_hash(fd) == search->contents);
	binary_summary_release(&summary);
	log_debug("%s: %s", path, is_same ? "matches" : "from a different build");
	return is_same ? steal_fd(&fd) : -ESTALE;
}

/* Keeps a file already found, else tries one more path. */
static int try_next(const struct module_search *search, int result, char *path)
{
	_cleanup_free_ char *owned = path;
	int fd;

	if (result >= 0)
		return result;
	fd = check_identity(search, open_regular(owned), owned);
	return fd >= 0 ? fd : worse_or(result, fd);
}

static int search_build_id(const struct module_search *search, const char *dir, int result)
{
	char id[2 * BUILD_ID_MAX + 1];

	build_id_to_text(search->build_id, search->build_id_size, id);
	result = try_next(search, result, xasprintf("%s/.build-id/%.2s/%s", dir, id, id + 2));
	/* In perf's cache, this is a folder. */
	return try_next(search, result, xasprintf("%s/.build-id/%.2s/%s/elf", dir, id, id + 2));
}

static int search_dir(const struct module_search *search, const char *dir, int result)
{
	if (search->build_id_size)
		result = search_build_id(search, dir, result);
	for (size_t i = 0; i < sizeof(search->paths) / sizeof(*search->paths); i++) {
		const char *path = search->paths[i];
		const char *name = path ? strrchr(path, '/') : NULL;

		if (!name || *path != '/')
			continue;
		result = try_next(search, result, xasprintf("%s%s", dir, path));
		result = try_next(search, result, xasprintf("%s%s", dir, name));
	}
	return result;
}

int module_file_open(const struct module_search *search)
{
	int result = -ENOENT;

	if (search->build_id_size > BUILD_ID_MAX ||
	    (search->build_id_size ? search->build_id_size < 2 : !search->contents))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(search->paths) / sizeof(*search->paths); i++) {
		const char *path = search->paths[i];
		int fd;

		if (result >= 0 || !path || *path != '/')
			continue;
		/* The profile names this path, so readers matter. */
		fd = check_identity(search, readers_open(search->readers, 0, path), path);
		result = fd >= 0 ? fd : worse_or(result, fd);
	}
	for (const char *const *dir = search->dirs; dir && *dir; dir++)
		result = search_dir(search, *dir, result);
	return result;
}

/*
 * Maximum size of MiniDebugInfo, which contains only names of functions; the largest have a few
 * megabytes.
 */
#define MAX_MINI_PACKED ((size_t)64 << 20)
#define MAX_MINI ((uint64_t)256 << 20)
#define MAX_MINI_NS 3000000000ull

struct module_files {
	struct symbolizer_input input;
	char *path; /* path as the process saw it, even if deleted since */
	bool was_deleted;
	struct shared_fdes fdes; /* has a lock of its own */
	pthread_mutex_t lock; /* guards all members below */
	unsigned int references;
	bool was_searched, was_read;
	bool has_debug, has_symbols; /* properties of the module's own file */
	struct debug_file debug;
	bool was_searched_for_symbols;
	/* File with symbols for a kernel module whose own file has no lines. */
	struct debug_file symbols;
	int mini;
	bool was_tabled;
	struct symbol_table *table;
	struct error table_error; /* reason for having no symbol table */
	struct debug_sections sections, shared;
	enum symbol_reason reason;
	struct error error; /* reason for having no debug sections */
};

struct module_files *module_files_new(const struct symbolizer_input *input)
{
	struct module_files *f = xcalloc(1, sizeof(*f));
	size_t size = input->path ? strlen(input->path) : 0;

	f->input = *input;
	f->input.files = NULL;
	f->was_deleted = input->module && input->module->was_deleted && size &&
			 text_ends_with(input->path, PATH_DELETED);
	if (f->was_deleted)
		size -= strlen(PATH_DELETED);
	f->path = size ? xstrndup(input->path, size) : NULL;
	/* The caller's path may move. */
	f->input.path = f->path;
	pthread_mutex_init(&f->lock, NULL);
	shared_fdes_init(&f->fdes, input->fd);
	f->references = 1;
	f->debug = f->symbols = (struct debug_file){.fd = -1};
	f->mini = -1;
	return f;
}

struct module_files *module_files_ref(struct module_files *f)
{
	pthread_mutex_lock(&f->lock);
	f->references++;
	pthread_mutex_unlock(&f->lock);
	return f;
}

void module_files_unref(struct module_files *f)
{
	bool is_last;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	is_last = --f->references == 0;
	pthread_mutex_unlock(&f->lock);
	if (!is_last)
		return;
	symbol_table_free(f->table);
	shared_fdes_release(&f->fdes);
	debug_sections_release(&f->sections);
	debug_sections_release(&f->shared);
	debug_file_close(&f->debug);
	debug_file_close(&f->symbols);
	fd_close(f->mini);
	pthread_mutex_destroy(&f->lock);
	free(f->path);
	free(f);
}

static const struct debug_search *search_of(const struct module_files *f)
{
	static const struct debug_search none;

	return f->input.search ? f->input.search : &none;
}

/*
 * Returns the users who must be able to read files that the module names. Files of the kernel are
 * not restricted to any users.
 */
static const struct readers *readers_of(const struct module_files *f)
{
	const struct module *module = f->input.module;

	return module && !module_is_kernel(module) ? &module->users : NULL;
}

/* Opens MiniDebugInfo: an ELF file with a few symbols, packed with xz into a section. */
static int open_mini(const struct binary *own)
{
	_cleanup_free_ uint8_t *packed = NULL;
	struct error err = {0};
	size_t size;
	int fd;

	if (binary_read_section(own, ".gnu_debugdata", MAX_MINI_PACKED, &packed, &size, NULL) != 0)
		return -1;
	fd = unpack_to_file(PACKING_XZ, packed, size, MAX_MINI, clock_monotonic_ns() + MAX_MINI_NS,
			    &err);
	if (fd < 0)
		log_debug(".gnu_debugdata: %s", err.text);
	return fd < 0 ? -1 : fd;
}

static void search_without_own(struct module_files *f)
{
	const struct module *module = f->input.module;
	const struct debug_wanted wanted = {
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.path = f->path,
		.root = f->input.root,
		.readers = readers_of(f),
	};

	if (debug_file_find(&f->debug, &wanted, search_of(f), &f->reason) == 0 || f->input.fd >= 0)
		return;
	if (f->reason != SYMBOLS_NO_DEBUG_FILE && f->reason != SYMBOLS_STRIPPED)
		return;
	f->reason = SYMBOLS_UNREADABLE;
	if (f->was_deleted)
		f->reason = SYMBOLS_DELETED;
	else if (symbol_reason_is_of_search(module->reason))
		f->reason = module->reason;
}

static void search_with_own(struct module_files *f, const struct binary *own)
{
	struct debug_link link;
	uint8_t build_id[BUILD_ID_MAX];
	struct debug_wanted wanted = {
		.build_id = build_id,
		.build_id_size = binary_build_id(own, build_id),
		.path = f->path,
		.root = f->input.root,
		.readers = readers_of(f),
	};

	f->has_debug = binary_has_section(own, ".debug_info") ||
		       binary_has_section(own, ".zdebug_info");
	f->has_symbols = binary_has_section(own, ".symtab");
	if (f->has_debug) {
		f->reason = SYMBOLS_FOUND;
		return;
	}
	if (debug_link_read(&link, own))
		wanted.link = &link;
	if (debug_file_find(&f->debug, &wanted, search_of(f), &f->reason) == 0)
		return;
	if (!f->has_symbols)
		f->mini = open_mini(own);
	else if (f->reason == SYMBOLS_STRIPPED)
		f->reason = SYMBOLS_NO_LINES;
}

/*
 * Finds a file for the kernel. The whole image is linked and large, so it is never downloaded; only
 * modules may be packed.
 */
static int find_kernel_file(struct module_files *f, bool needs_lines, struct debug_file *found,
			    enum symbol_reason *reason)
{
	const struct module *module = f->input.module;
	struct kernel_files paths = {0};
	struct debug_wanted wanted = {
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.needs_lines = needs_lines,
		.is_never_fetched = module->kind == PROFILE_MODULE_KERNEL,
		.may_be_packed = module->kind == PROFILE_MODULE_KERNEL_MODULE,
	};
	int ret;

	kernel_files_list(&paths, module, f->path, search_of(f));
	wanted.alt_paths = (const char *const *)paths.rows.items;
	ret = debug_file_find(found, &wanted, search_of(f), reason);
	kernel_files_release(&paths);
	return ret;
}

static bool is_kernel_module(const struct module_files *f)
{
	return f->input.module && f->input.module->kind == PROFILE_MODULE_KERNEL_MODULE;
}

static void search_kernel(struct module_files *f)
{
	const struct module *module = f->input.module;

	f->reason = SYMBOLS_KERNEL_NO_DEBUG_FILE;
	if (module->kind == PROFILE_MODULE_KERNEL_DYNAMIC || !module->build_id_size)
		return;
	find_kernel_file(f, true, &f->debug, &f->reason);
	if (f->reason == SYMBOLS_NO_DEBUG_FILE)
		f->reason = SYMBOLS_KERNEL_NO_DEBUG_FILE;
}

/* Call with the lock held. */
static void search(struct module_files *f)
{
	struct error err = {0};
	struct binary *own = NULL;

	if (f->was_searched)
		return;
	f->was_searched = true;
	/* For the kernel, the descriptor is its list of symbols. */
	if (f->input.module && module_is_kernel(f->input.module)) {
		search_kernel(f);
		return;
	}
	if (f->input.fd >= 0 && binary_open(&own, f->input.fd, &err) == 0)
		search_with_own(f, own);
	else
		search_without_own(f);
	binary_free(own);
}

static int read_shared(struct module_files *f, int fd)
{
	const char *alt_paths[2] = {NULL};
	struct debug_wanted wanted = {.path = f->debug.path ? f->debug.path : f->path,
				      .alt_paths = alt_paths,
				      .readers = readers_of(f),
				      .is_shared_part = true,
				      .root = f->debug.path ? f->debug.root : f->input.root};
	struct debug_file file = {.fd = -1};
	enum symbol_reason reason;
	struct binary *b = NULL;
	struct alt_link link;
	bool has_link;
	int ret;

	if (binary_open(&b, fd, &f->error) != 0)
		return f->error.code;
	has_link = alt_link_read(&link, b);
	binary_free(b);
	if (!has_link)
		return 0;
	wanted.build_id = link.build_id;
	wanted.build_id_size = link.build_id_size;
	alt_paths[0] = link.path;
	ret = debug_file_find(&file, &wanted, search_of(f), &reason);
	if (ret == 0) {
		ret = debug_sections_open(&f->shared, file.fd, DEBUG_FILE_SHARED, &f->error);
		error_wrap(&f->error, "%s", file.path);
	} else {
		f->reason = SYMBOLS_NO_SHARED_PART;
		error_text(&f->error, ret, "%s: debug information shared with other files: %s",
			   link.path, symbol_reason_text(reason));
	}
	debug_file_close(&file);
	return ret;
}

static enum symbol_reason reason_of(int result)
{
	switch (result) {
	case -EFBIG:
	case -ENOMEM:
		return SYMBOLS_TOO_LARGE;
	case -ENOENT:
		return SYMBOLS_NO_DEBUG_FILE;
	default:
		return SYMBOLS_DAMAGED;
	}
}

_Static_assert(MODULE_SECTION_NAME == SECTION_NAME_SIZE, "the same names");

/*
 * Returns the folder for unpacked contents of the file with lines; NULL: not kept. Used only for
 * distributions' files: only root can change them, and only they are large and compressed.
 */
static const char *folder_of(const struct module_files *f)
{
	const char *path = f->has_debug ? NULL : f->debug.path;

	return path && !f->debug.root && text_starts_with(path, DEBUG_SYSTEM_DIR "/")
		       ? search_of(f)->unpacked
		       : NULL;
}

/* A kernel module has no addresses except those where it was loaded. */
static int open_sections(struct module_files *f, int fd)
{
	const struct module *module = f->input.module;
	struct section_places places = {0};
	VEC(struct section_place) rows = {0};
	int ret;

	vec_for_each(&module->sections, const struct module_section *, it) {
		struct section_place place = {.offset = it->offset};

		memcpy(place.name, it->name, sizeof(place.name));
		vec_push(&rows, place);
	}
	places.rows = rows.items;
	places.count = rows.count;
	ret = debug_sections_open_lazily(&f->sections, fd, &places, folder_of(f), &f->error);
	vec_release(&rows);
	return ret;
}

/* Call with the lock held. */
static void read_sections(struct module_files *f)
{
	int fd, ret;

	if (f->was_read)
		return;
	f->was_read = true;
	search(f);
	fd = f->has_debug ? f->input.fd : f->debug.fd;
	if (fd < 0) {
		error_text(&f->error, -ENOENT, "%s", symbol_reason_text(f->reason));
		return;
	}
	ret = open_sections(f, fd);
	if (ret == 0)
		ret = read_shared(f, fd);
	if (ret == 0)
		return;
	if (f->reason == SYMBOLS_FOUND)
		f->reason = reason_of(ret);
	debug_sections_release(&f->sections);
}

struct shared_fdes *module_files_fdes(struct module_files *f)
{
	return &f->fdes;
}

/* Searches for a file with symbols if the kernel does not provide them. Call with the lock held. */
static void search_for_symbols(struct module_files *f)
{
	enum symbol_reason reason;

	if (f->debug.fd >= 0 || f->was_searched_for_symbols || !is_kernel_module(f))
		return;
	f->was_searched_for_symbols = true;
	find_kernel_file(f, false, &f->symbols, &reason);
}

/*
 * Returns another file with the symbols stripped from the module's own, or -1. Call with the lock
 * held.
 */
static int separate_symbols(struct module_files *f)
{
	search(f);
	search_for_symbols(f);
	if (f->has_symbols)
		return -1;
	return f->debug.fd >= 0 ? f->debug.fd : f->symbols.fd >= 0 ? f->symbols.fd : f->mini;
}

struct symbol_table *module_files_symbol_table(struct module_files *f, const uint64_t *rvas,
					       size_t count, struct error *err)
{
	struct symbol_table_input input = {.own = f->input.fd, .rvas = rvas, .rva_count = count};
	struct symbol_table *table;

	pthread_mutex_lock(&f->lock);
	if (!f->was_tabled) {
		input.separate = separate_symbols(f);
		symbol_table_new(&f->table, &input, &f->table_error);
	}
	f->was_tabled = true;
	table = f->table;
	if (!table)
		error_text(err, f->table_error.code, "%s", f->table_error.text);
	pthread_mutex_unlock(&f->lock);
	return table;
}

const struct debug_sections *module_files_debug(struct module_files *f, struct error *err)
{
	const struct debug_sections *sections;

	pthread_mutex_lock(&f->lock);
	read_sections(f);
	sections = f->sections.source ? &f->sections : NULL;
	if (!sections)
		error_text(err, f->error.code, "%s", f->error.text);
	pthread_mutex_unlock(&f->lock);
	return sections;
}

const struct debug_sections *module_files_shared(struct module_files *f)
{
	const struct debug_sections *sections;

	pthread_mutex_lock(&f->lock);
	read_sections(f);
	sections = f->shared.source ? &f->shared : NULL;
	pthread_mutex_unlock(&f->lock);
	return sections;
}

/* Returns the path of the file that holds the skeletons. Call with the lock held. */
static const char *skeleton_path(const struct module_files *f, int *root)
{
	bool is_apart = !f->has_debug && f->debug.path;

	*root = is_apart ? f->debug.root : f->input.root;
	return is_apart ? f->debug.path : f->path;
}

int module_files_open_split(struct module_files *f, unsigned int place, const char *dir,
			    const char *name)
{
	_cleanup_free_ char *path = NULL;
	int root, ret;

	pthread_mutex_lock(&f->lock);
	path = split_path(skeleton_path(f, &root), place, dir, name, &ret);
	pthread_mutex_unlock(&f->lock);
	return path ? debug_file_open(search_of(f), readers_of(f), root, path) : ret;
}

int module_files_open_package(struct module_files *f)
{
	int root, fd = -ENOENT;
	const char *apart;

	pthread_mutex_lock(&f->lock);
	apart = skeleton_path(f, &root);
	if (apart) {
		_cleanup_free_ char *path = xasprintf("%s.dwp", apart);

		fd = debug_file_open(search_of(f), readers_of(f), root, path);
	}
	if (fd < 0 && f->path) {
		_cleanup_free_ char *path = xasprintf("%s.dwp", f->path);
		_cleanup_free_ char *system = xasprintf(DEBUG_SYSTEM_DIR "%s.dwp", f->path);

		fd = debug_file_open(search_of(f), readers_of(f), f->input.root, path);
		if (fd < 0)
			fd = debug_file_open(search_of(f), readers_of(f), f->input.root, system);
	}
	pthread_mutex_unlock(&f->lock);
	return fd;
}

void module_files_set_reason(struct module_files *f, enum symbol_reason reason)
{
	pthread_mutex_lock(&f->lock);
	if (f->reason == SYMBOLS_FOUND)
		f->reason = reason;
	pthread_mutex_unlock(&f->lock);
}

bool module_files_has_symbols(const struct module_files *f)
{
	return f->has_symbols;
}

enum symbol_reason module_files_reason(struct module_files *f)
{
	enum symbol_reason reason;

	pthread_mutex_lock(&f->lock);
	reason = f->reason;
	pthread_mutex_unlock(&f->lock);
	return reason;
}

const char *module_files_debug_path(struct module_files *f)
{
	const char *path;

	pthread_mutex_lock(&f->lock);
	path = f->sections.source ? f->debug.path : NULL;
	pthread_mutex_unlock(&f->lock);
	return path;
}
