/* SPDX-License-Identifier: MIT */
/*
 * The files that say something about one module: found, opened and unpacked once, when somebody
 * asks, however many workers name parts of the module. What is handed out lives as long as the
 * reference to the whole.
 */
#ifndef PROF_SYMBOLIZE_MODULE_FILES_H
#define PROF_SYMBOLIZE_MODULE_FILES_H

#include "lib/binary/debug_sections.h"
#include "symbolize/debuginfo/debug_file.h"
#include "symbolize/symbolizer.h"

struct module_files;
struct shared_fdes;
struct symbol_table;

/* With one reference. Copies the input and its path; what else it points to stays the caller's. */
struct module_files *module_files_new(const struct symbolizer_input *input);
struct module_files *module_files_ref(struct module_files *f);
/* From any thread; NULL is fine. */
void module_files_unref(struct module_files *f);

/*
 * The symbols of the own file, and of another one that has what was stripped from it. NULL and why
 * there are none: -ENOENT or -ENOEXEC.
 */
struct symbol_table *module_files_symbol_table(struct module_files *f, struct error *err);
/* Functions of the own file by its call frame information, whether there is any or not. */
struct shared_fdes *module_files_fdes(struct module_files *f);
/*
 * Where functions and lines are: in the own file or in another one. NULL and why there is none:
 * -ENOENT, -EFBIG, -ENOMEM or -ENOEXEC.
 */
const struct debug_sections *module_files_debug(struct module_files *f, struct error *err);
/* The part that dwz moved into a file shared with others; NULL where nothing was moved. */
const struct debug_sections *module_files_shared(struct module_files *f);
/*
 * A file with split units of the module, not looked into, at the place of that number, from 0 on,
 * among those where it may be: a new descriptor, -ERANGE where there are no more places, else
 * another negative errno. `name` is the unit's, `dir` the unit's folder or NULL.
 */
int module_files_open_split(struct module_files *f, unsigned int place, const char *dir,
			    const char *name);
/* The package with all split units of the module: a new descriptor, or a negative errno. */
int module_files_open_package(struct module_files *f);
/* Notes why a reader of the debug information failed. The first reason counts. */
void module_files_set_reason(struct module_files *f, enum symbol_reason reason);
/* What became of the search, once module_files_debug() was called. */
enum symbol_reason module_files_reason(struct module_files *f);
/* Where the debug information is, where that is not the module's own file; else NULL. */
const char *module_files_debug_path(struct module_files *f);

#endif
