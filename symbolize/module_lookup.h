/* SPDX-License-Identifier: MIT */
/* Finds the file of a module that was recorded earlier, perhaps on another machine. */
#ifndef PROF_SYMBOLIZE_MODULE_LOOKUP_H
#define PROF_SYMBOLIZE_MODULE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

struct readers;

struct module_search {
	const uint8_t *build_id;
	size_t build_id_size;
	uint64_t contents; /* without a build id: binary_contents_hash(); 0: unknown */
	const char *paths[2]; /* its former places; relative ones are ignored, NULL is fine */
	const char *const *dirs; /* from --debug-dir, NULL-terminated, or NULL */
	const struct readers *readers; /* users who must be able to read `paths`; NULL: only we */
};

/*
 * Tries these paths, then in each directory .build-id/xx/yyy, yyy/elf (perf's
 * cache), the path as if the directory were the
 * root, and the name alone. Takes only a regular ELF file or jitdump with the build id, or without
 * any the contents. Returns a descriptor, or -ENOENT: nowhere, -ESTALE: only of another build,
 * -EACCES: only unreadable ones, -EINVAL: nothing to tell files apart by.
 */
int module_file_open(const struct module_search *search);

#endif
