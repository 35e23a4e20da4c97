/* SPDX-License-Identifier: MIT */
/* A profile that is looked at: its bytes, and the code that it is about. */
#ifndef PROF_CMD_NET_VIEWED_PROFILE_H
#define PROF_CMD_NET_VIEWED_PROFILE_H

#include <pthread.h>

#include "cmd/options/output_options.h"
#include "cmd/net/served_file.h"
#include "lib/code/files/file_set.h"
#include "lib/base/readers.h"
#include "lib/format/firefox/read/read_tables.h"
#include "lib/model/tables/profile.h"

struct viewed_profile {
	const char *path; /* the first, of two; borrowed */
	struct served_file served;
	struct profile *profile; /* its modules are the libs of the file, in the same order */
	struct readers owners; /* of the files: what they name must be theirs to read, too */
	struct lib_ids libs;
	struct file_set *files; /* by module.file_key */
	char *kernel_release;
	const struct output_options *options; /* say where files are; borrowed */
	pthread_mutex_t fetching; /* taken before `lock` */
	bool *was_fetched; /* by module: servers were asked for its file */
	bool has_kernel_code; /* a server's vmlinux is in `files`, by the kernel's module_id */
	pthread_mutex_t lock; /* of naming, of `files`, and of the list below */
	struct strings named; /* source files that naming has found */
};

/* A function of a chain of inlined ones. */
struct viewed_level {
	char *func, *file; /* NULL: unknown */
	uint32_t line; /* 0: unknown */
};

/* Facts about an address. */
struct viewed_place {
	VEC(struct viewed_level) levels; /* innermost first; empty: nothing is known */
	bool has_start; /* of the function in machine code, which is the last level */
	uint64_t start, size; /* its RVA; size 0: unknown */
};

/*
 * Reads it with the permissions that the process has. Of two paths, it is both and their
 * difference; -EXDEV: they have none.
 */
int viewed_profile_open(struct viewed_profile *v, const char *const *paths, size_t count,
			const struct output_options *options, struct error *err);
void viewed_profile_close(struct viewed_profile *v);
/* Returns NO_MODULE if no lib is called so. */
module_id viewed_profile_find(const struct viewed_profile *v, const char *debug_name,
			      const char *breakpad_id);
/* Fills in `places`, one for each RVA; release them with viewed_places_release(). */
void viewed_profile_name(struct viewed_profile *v, module_id module, const uint64_t *rvas,
			 size_t count, struct viewed_place *places);
void viewed_places_release(struct viewed_place *places, size_t count);
/* Gets the module's file from a server if it is not here; asks once. */
void viewed_profile_fetch(struct viewed_profile *v, module_id module);
/*
 * Does the same, and returns a copy of the module that leads to its code: a vmlinux is an ordinary
 * file. Shares what it points to.
 */
struct module viewed_profile_code_module(struct viewed_profile *v, module_id module);
/*
 * Returns the text of a source file of the module that the profile names, to be freed; NULL with
 * err: it names none such, or it cannot be had. Scripts have NO_MODULE.
 */
char *viewed_profile_source(struct viewed_profile *v, module_id module, const char *path,
			    size_t *size, struct error *err);
/* Appends "libfoo.so (not on this machine), …": modules with frames whose files are missing. */
void viewed_profile_missing(const struct viewed_profile *v, struct strbuf *text);

#endif
