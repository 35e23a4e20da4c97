/* SPDX-License-Identifier: MIT */
/* Shared by the files that sanitize a profile. */
#pragma once

#include <regex.h>

#include "lib/query/sanitize/sanitize.h"
#include "lib/query/sanitize/scrub.h"

struct sanitizer {
	const struct sanitize_options *options;
	struct sanitize_counts *counts;
	const struct profile *from;
	struct profile *into;
	struct scrubber scrubber;
	regex_t names; /* valid if options->names */
	/* New ids by old id. */
	module_id *modules;
	func_id *funcs;
	symbol_id *symbols;
	source_file_id *files;
	frame_id *frames;
	stack_id *stacks;
	bool *is_label; /* by func_id: the function is the label of a wait, not code */
};

/* Returns the scrubbed string; NO_STRING for NO_STRING. */
string_id sanitize_text(struct sanitizer *s, string_id id);
string_id sanitize_path(struct sanitizer *s, string_id id);
/* Does the same for strings outside the table; NULL for NULL; the caller frees the result. */
char *sanitize_copy(struct sanitizer *s, const char *text);
/* Callbacks of a row_copier, whose ctx is the sanitizer: scrub strings, drop them, map stacks. */
string_id sanitize_any_text(void *ctx, string_id id);
string_id sanitize_no_text(void *ctx, string_id id);
stack_id sanitize_stack(void *ctx, stack_id id);
/* Returns the name, or its hash if `names` hides the name. */
string_id sanitize_name(struct sanitizer *s, string_id id);
/* Returns only the first word of a name, unless arguments are kept. */
string_id sanitize_program_name(struct sanitizer *s, string_id id);
/* "process 7" */
string_id sanitize_numbered(struct sanitizer *s, const char *what, uint32_t number);
/* Return the names of processes and threads, which may be replaced by a number counted from 1. */
string_id sanitize_process_name(struct sanitizer *s, string_id id, uint32_t number);
string_id sanitize_thread_name(struct sanitizer *s, const struct profile_thread *from,
			       uint32_t number);
/* True if an option hides names, including this one. */
bool sanitize_hides(const struct sanitizer *s, string_id id);

/* Collects names of users, machines and kernels, which may occur anywhere. */
void sanitize_learn(struct scrubber *scrubber, const struct profile *from,
		    const struct sanitize_options *options);
/*
 * True for the kernel and files in system folders: their function names are public, and "vm" in one
 * is not a machine's name.
 */
bool sanitize_is_public_module(const struct profile *p, module_id module);
