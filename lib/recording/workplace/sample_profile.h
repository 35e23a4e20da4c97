/* SPDX-License-Identifier: MIT */
/*
 * Feedback for compilers that use LLVM: how often each line of each function ran, in the text form
 * of LLVM's sample profiles (llvm/include/llvm/ProfileData/SampleProfReader.h).
 */
#pragma once

#include "lib/base/outfile.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/profile.h"

struct sample_profile {
	const struct profile *profile;
	module_id module; /* the program or library to be compiled */
	uint8_t event; /* the event to count */
	bool are_branches; /* the event is PERF_BRANCHES */
	/* Open files by module.file_key, and folders of --debug-dir, NULL-terminated. */
	const struct file_set *files;
	const char *const *dirs;
};

struct sample_profile_counts {
	uint64_t weight, used; /* samples in the module, and how many of them have such lines */
};

/*
 * Writes the whole profile of the module's samples or branches. Returns -ENODATA if none has a line
 * relative to the start of its function; or errors of function_code_read() and disassemble().
 */
int sample_profile_write(const struct sample_profile *s, struct outfile *out,
			 struct sample_profile_counts *counts, struct error *err);
