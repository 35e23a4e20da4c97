/* SPDX-License-Identifier: MIT */
/* Shared by the files that make a sanitised profile. */
#ifndef PROF_LIB_QUERY_SANITIZE_SANITIZE_INTERNAL_H
#define PROF_LIB_QUERY_SANITIZE_SANITIZE_INTERNAL_H

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
	/* By old ids: new ones. */
	module_id *modules;
	func_id *funcs;
	symbol_id *symbols;
	source_file_id *files;
	frame_id *frames;
	stack_id *stacks;
	bool *is_label; /* by func_id: no code, says what the thread waits for */
};

/* The scrubbed text, NO_STRING for NO_STRING. */
string_id sanitize_text(struct sanitizer *s, string_id id);
string_id sanitize_path(struct sanitizer *s, string_id id);
/* The same for strings without a row; NULL for NULL. To be freed. */
char *sanitize_copy(struct sanitizer *s, const char *text);
/* Rules of a copier, whose ctx is the sanitizer: scrubs texts, leaves them out, maps stacks. */
string_id sanitize_any_text(void *ctx, string_id id);
string_id sanitize_no_text(void *ctx, string_id id);
stack_id sanitize_stack(void *ctx, stack_id id);
/* A name that `names` may hide. */
string_id sanitize_name(struct sanitizer *s, string_id id);
/* Only the first word of a name, unless arguments may stay. */
string_id sanitize_program_name(struct sanitizer *s, string_id id);
/* "process 7" */
string_id sanitize_numbered(struct sanitizer *s, const char *what, uint32_t number);
/* Names of processes, and of threads, which may be made up of a number from 1 on. */
string_id sanitize_process_name(struct sanitizer *s, string_id id, uint32_t number);
string_id sanitize_thread_name(struct sanitizer *s, const struct profile_thread *from,
			       uint32_t number);
/* True if an option hides names, and that of the string. */
bool sanitize_hides(const struct sanitizer *s, string_id id);

/* Learns names of users, machines and kernels: they may stand anywhere. */
void sanitize_learn(struct scrubber *scrubber, const struct profile *from,
		    const struct sanitize_options *options);
/*
 * True for the kernel and files in folders of the system: their functions are named by those who
 * wrote them, and "vm" in there is no machine's name.
 */
bool sanitize_is_public_module(const struct profile *p, module_id module);
/* Everything that is said of the recording as a whole. */
void sanitize_meta(struct sanitizer *s);
/* Modules, functions, symbols, files, frames and stacks. */
void sanitize_tables(struct sanitizer *s);
/* Adds the marker to the new profile's thread, unless it is left out. */
void sanitize_marker(struct sanitizer *s, const struct marker *from, struct profile_thread *thread);
/* Threads with their samples and markers, and counters. */
void sanitize_threads(struct sanitizer *s);

#endif
