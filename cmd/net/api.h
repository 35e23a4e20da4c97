/* SPDX-License-Identifier: MIT */
/*
 * Answers requests of front-ends to a symbol server, version 5 of that interface: JSON in and out.
 * An invalid request is answered by an object with "error".
 */
#pragma once

#include <pthread.h>

#include "cmd/options/output_options.h"
#include "lib/base/open_file.h"
#include "lib/code/files/file_set.h"
#include "lib/fleet/server/http.h"
#include "lib/format/firefox/read/read_tables.h"
#include "lib/model/tables/profile.h"

/* A profile being viewed: its bytes, and the code that its frames refer to. */

/* The bytes of the profile served to a front-end. */

struct served_file {
	int fd; /* never 0 */
	uint64_t size;
	bool is_gzip;
};

struct viewed_profile {
	const char *path; /* path of the first of two files; borrowed */
	struct served_file served;
	struct profile *profile; /* its modules are the libs of the file, in the same order */
	struct readers owners; /* owners of the files, who must be able to read the files named in
				  the profile */
	struct lib_ids libs;
	struct file_set *files; /* open files by module.file_key */
	char *kernel_release;
	const struct output_options *options; /* settings for finding files; borrowed */
	pthread_mutex_t fetching; /* lock to take before `lock` */
	bool *was_fetched; /* by module: servers were already asked for the file */
	bool has_kernel_code; /* `files` has a server's vmlinux, by the kernel's module_id */
	pthread_mutex_t lock; /* guards naming, `files` and `named` */
	struct strings named; /* paths of source files found while naming */
};

/* A function in a chain of inlined functions. */
struct viewed_level {
	char *func, *file; /* NULL if unknown */
	uint32_t line; /* 0: unknown */
};

/* Names of an address. */
struct viewed_place {
	VEC(struct viewed_level) levels; /* innermost first; empty: unknown */
	bool has_start; /* the machine-code function, the last level, has a known start */
	uint64_t start, size; /* RVA and size of the machine-code function; size 0: unknown */
};

/*
 * Reads the profile with the process's permissions. Two paths become both sides and their
 * difference; -EXDEV if the difference is undefined.
 */
int viewed_profile_open(struct viewed_profile *v, const char *const *paths, size_t count,
			const struct output_options *options, struct error *err);
void viewed_profile_close(struct viewed_profile *v);
/* Returns NO_MODULE if there is no such lib. */
module_id viewed_profile_find(const struct viewed_profile *v, const char *debug_name,
			      const char *breakpad_id);
/* Fills in `places`, one for each RVA; release them with viewed_places_release(). */
void viewed_profile_name(struct viewed_profile *v, module_id module, const uint64_t *rvas,
			 size_t count, struct viewed_place *places);
void viewed_places_release(struct viewed_place *places, size_t count);
/*
 * Does the same, and returns a copy of the module that leads to its code: the kernel's vmlinux
 * becomes an ordinary file. The copy shares the original's pointers.
 */
struct module viewed_profile_code_module(struct viewed_profile *v, module_id module);
/*
 * Returns the text of a source file of the module, to be freed. NULL with err if the profile does
 * not name the file or the file cannot be read. Scripts have NO_MODULE.
 */
char *viewed_profile_source(struct viewed_profile *v, module_id module, const char *path,
			    size_t *size, struct error *err);
/* Appends "libfoo.so (not on this machine), …": modules with frames whose files are missing. */
void viewed_profile_missing(const struct viewed_profile *v, struct strbuf *text);
/*
 * Writes a page that compares two files. Returns its descriptor, which the caller closes, and sets
 * *size; or a negative errno.
 */
int served_page_of_sides(const char *const *paths, const struct output_options *options,
			 uint64_t *size, struct error *err);

struct api {
	struct viewed_profile *profiles; /* borrowed */
	size_t count;
};

/* Answers a POST to "symbolicate/v5", "source/v1" or "asm/v1". False for other paths. */
bool api_answer(const struct api *api, const char *path, const struct http_request *request,
		struct http_response *response);
/* True if api_answer() serves the path. */
bool api_has(const char *path);
