/* SPDX-License-Identifier: MIT */
/*
 * Names all frames of a profile, module by module and several at a time; looks up only addresses
 * that occur. The result does not depend on the number of threads.
 */
#pragma once

#include "lib/base/workers.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/profile.h"
#include "symbolize/debuginfo/debug_file.h"
#include "symbolize/kernel/kernel_table.h"
#include "symbolize/name_cache.h"

struct symbolize_options {
	struct file_set *files; /* open files by module.file_key; NULL: none */
	/*
	 * Sealed, with the symbols of all kernel frames; NULL: use the kernel's list among the
	 * files.
	 */
	const struct kernel_table *kernel_symbols;
	const struct debug_search *search; /* settings for debug files; may be NULL */
	struct name_cache *cache; /* cache of names across profiles; NULL: none */
	unsigned int threads; /* number of threads; 0: one per CPU */
	uint64_t stall_ns; /* time after which unresponsive files are abandoned; 0: never */
	/*
	 * Called now and then in the caller's thread with the number of modules (or parts of large
	 * ones) done and in total. Any return value but WORKERS_GO_ON stops and keeps the names
	 * found so far.
	 */
	enum workers_wish (*progress)(void *ctx, size_t done, size_t count);
	void *ctx;
};

/*
 * Bad input files are never an error: their frames stay addresses, and the reason is logged at
 * debug level. Sets meta.symbolicated; false if stopped. Modules whose files do not respond get
 * that reason; threads_are_left() is then true, and the profile and the options' objects must stay.
 */
void symbolize_profile(struct profile *p, const struct symbolize_options *options);
/* Demangles the names that a profile has, except those of scripts. */
void demangle_profile(struct profile *p);
