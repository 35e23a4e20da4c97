/* SPDX-License-Identifier: MIT */
/*
 * The files with information about one module: found, opened and unpacked once, on the first
 * request, for all workers on parts of the module. Results live as long as the caller's reference.
 */
#pragma once

#include "lib/code/binary/debug_sections.h"
#include "symbolize/debuginfo/debug_file.h"
#include "symbolize/symbolizer.h"

/* Finds the file of a module that was recorded earlier, perhaps on another machine. */

struct readers;

struct module_search {
	const uint8_t *build_id;
	size_t build_id_size;
	uint64_t contents; /* for a module without a build id: binary_contents_hash(); 0: unknown */
	/* Former paths of the file; relative paths are ignored; may be NULL. */
	const char *paths[2];
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated; may be NULL */
	/* Users who must be able to read `paths`; NULL: only the current user. */
	const struct readers *readers;
};

/*
 * Tries these paths, then in each directory .build-id/xx/yyy, yyy/elf (perf's cache), the path
 * below the directory, and the bare name. Accepts only a regular ELF file or jitdump with the build
 * id or, without one, the same contents. Returns a descriptor, or -ENOENT if not found, -ESTALE if
 * only other builds were found, -EACCES if only unreadable files were found, -EINVAL if no identity
 * was given.
 */
int module_file_open(const struct module_search *search);

struct module_files;
struct shared_fdes;
struct symbol_table;

/* Starts with one reference. Copies the input and its path, borrows everything else. */
struct module_files *module_files_new(const struct symbolizer_input *input);
struct module_files *module_files_ref(struct module_files *f);
/* May be called from any thread; accepts NULL. */
void module_files_unref(struct module_files *f);

/*
 * Returns the symbols of the module's own file and its separate debug file. The first caller's
 * addresses, which ascend, are the fastest to look up. Returns NULL with -ENOENT or -ENOEXEC in
 * err.
 */
struct symbol_table *module_files_symbol_table(struct module_files *f, const uint64_t *rvas,
					       size_t count, struct error *err);
/*
 * Returns the functions of the own file according to its call frame information; never NULL,
 * perhaps empty.
 */
struct shared_fdes *module_files_fdes(struct module_files *f);
/*
 * Returns the debug information with functions and lines, from the module's own file or a separate
 * file. Returns NULL with -ENOENT, -EFBIG, -ENOMEM or -ENOEXEC in err.
 */
const struct debug_sections *module_files_debug(struct module_files *f, struct error *err);
/* Returns the part that dwz moved into a shared file; NULL if there is none. */
const struct debug_sections *module_files_shared(struct module_files *f);
/*
 * Opens a file with split units of the module at possible path number `place` (from 0), without
 * checking its content. Returns a new descriptor, -ERANGE if there are no more paths, or another
 * negative errno. `name` is the unit's, `dir` the unit's folder or NULL.
 */
int module_files_open_split(struct module_files *f, unsigned int place, const char *dir,
			    const char *name);
/*
 * Opens the package with all split units of the module. Returns a new descriptor or a negative
 * errno.
 */
int module_files_open_package(struct module_files *f);
/* Notes why a reader of the debug information failed. The first reason wins. */
void module_files_set_reason(struct module_files *f, enum symbol_reason reason);
/* Returns the outcome of the search. Call after module_files_debug(). */
enum symbol_reason module_files_reason(struct module_files *f);
/* True if the module's own file has its local symbols, after such a call. */
bool module_files_has_symbols(const struct module_files *f);
/* Returns the path of the debug information, or NULL if it is in the module's own file. */
const char *module_files_debug_path(struct module_files *f);
