/* SPDX-License-Identifier: MIT */
/* Names all frames of a profile: module by module, only over addresses that occur. */
#ifndef PROF_SYMBOLIZE_SYMBOLIZE_H
#define PROF_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/file_set.h"
#include "lib/profile/profile.h"

struct symbolize_options {
	struct file_set *files; /* by module.file_key; NULL: none */
	const char *const *debug_dirs; /* from --debug-dir, NULL-terminated, or NULL */
	/* Called now and then with modules done and to do; true: stop with what is named so far. */
	bool (*progress)(void *ctx, size_t done, size_t count);
	void *ctx;
};

/*
 * Bad input files are never an error: their frames stay addresses, and the reason is logged at
 * debug level. Sets meta.symbolicated; true to fact.
 */
void symbolize_profile(struct profile *p, const struct symbolize_options *options);

#endif
