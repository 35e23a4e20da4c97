/* SPDX-License-Identifier: MIT */
/*
 * Names all frames of a profile: module by module, several at a time, only over addresses that
 * occur. The result is the same whatever the number of threads.
 */
#ifndef PROF_SYMBOLIZE_SYMBOLIZE_H
#define PROF_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/file_set.h"
#include "lib/profile/profile.h"
#include "symbolize/debuginfo/debug_file.h"
#include "symbolize/kernel/kernel_table.h"

struct symbolize_options {
	struct file_set *files; /* by module.file_key; NULL: none */
	/* Sealed, with every symbol that frames lie in; NULL: the kernel's list among the files. */
	const struct kernel_table *kernel_symbols;
	const struct debug_search *search; /* for debug files, or NULL */
	unsigned int threads; /* that name side by side; 0: one for each CPU */
	/*
	 * Called now and then with modules (or parts of large ones) done and to do; true: stop with
	 * what is named so far. From any of the threads, but never from two at a time.
	 */
	bool (*progress)(void *ctx, size_t done, size_t count);
	void *ctx;
};

/*
 * Bad input files are never an error: their frames stay addresses, and the reason is logged at
 * debug level. Sets meta.symbolicated; true to fact.
 */
void symbolize_profile(struct profile *p, const struct symbolize_options *options);

#endif
