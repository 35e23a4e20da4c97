/* SPDX-License-Identifier: MIT */
/* Finding the file of a module that was recorded earlier, perhaps on another machine. */
#ifndef PROF_SYMBOLIZE_MODULE_LOOKUP_H
#define PROF_SYMBOLIZE_MODULE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

struct readers;

struct module_search {
	const uint8_t *build_id;
	size_t build_id_size;
	const char *paths[2]; /* where it was; not absolute ones are ignored, NULL is fine */
	const char *const *dirs; /* of --debug-dir, NULL-terminated, or NULL */
	const struct readers *readers; /* who has to be able to read those paths; NULL: we alone */
};

/*
 * Looks at those paths, then in each directory at .build-id/xx/yyy, at the path as if the directory
 * were the root, and at the name alone. Only a regular ELF file that bears the build id is taken.
 * A descriptor, or -ENOENT: nowhere, -ESTALE: only of another build, -EACCES: only ones that may
 * not be read, -EINVAL: without a build id no file can be told from another one.
 */
int module_file_open(const struct module_search *search);

#endif
