/* SPDX-License-Identifier: MIT */
/*
 * Where the files of the kernel and of its modules may be, that have debug information: neither
 * knows its own path.
 */
#ifndef PROF_SYMBOLIZE_KERNEL_KERNEL_FILES_H
#define PROF_SYMBOLIZE_KERNEL_KERNEL_FILES_H

#include "lib/base/vec.h"
#include "symbolize/debuginfo/debug_file.h"

/* Paths in the order in which they are to be tried; NULL-terminated. */
struct kernel_files {
	VEC(char *) rows;
};

/*
 * Of the image, or of the module that is called "[ext4]", as the debug directories, distributions
 * and the kernel's own `make` have them. Directories are read as the search's owner may.
 */
void kernel_files_list(struct kernel_files *files, const struct module *module, const char *name,
		       const struct debug_search *search);
void kernel_files_release(struct kernel_files *files);

#endif
