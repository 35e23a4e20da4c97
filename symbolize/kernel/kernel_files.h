/* SPDX-License-Identifier: MIT */
/* Candidate paths of debug files of the kernel and its modules, whose paths are not recorded. */
#pragma once

#include "symbolize/debuginfo/debug_file.h"

/* Paths in the order to try them; NULL-terminated. */
struct kernel_files {
	VEC(char *) rows;
};

/*
 * Lists the paths of the image, or of the module with a name like "[ext4]", as used by the debug
 * directories, distributions and the kernel's own `make`. Reads directories with the permissions of
 * the search's owner.
 */
void kernel_files_list(struct kernel_files *files, const struct module *module, const char *name,
		       const struct debug_search *search);
void kernel_files_release(struct kernel_files *files);
