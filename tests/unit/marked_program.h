/* SPDX-License-Identifier: MIT */
/* The program in tests/unit/programs, whose functions, inlined calls and lines are known. */
#pragma once

#include "symbolize/debuginfo/debug_file.h"
#include "tests/unit/scratch.h"

#define MARKED_LINK "-nostdlib -static -Wl,--build-id=sha1"
#define MARKED_SOURCES "-I $SRC $SRC/tests/unit/programs/one.c $SRC/tests/unit/programs/two.c"
/* Compiles and links it as `name`. */
#define marked_build(s, name, compiler) \
	scratch_run(s, "%s -O2 %s %s -o %s", compiler, MARKED_LINK, MARKED_SOURCES, name)

/* A file to name as if it had run as DIR/name. Zero it, then set members. */
struct marked {
	const char *name;
	const char *symbols; /* another build with its marks; NULL: the file itself */
	const char *const *dirs; /* --debug-dir */
	const char *cache;
	struct debug_fetcher *fetcher;
	int root;
	bool is_kernel;
	/* "[name]" of the kernel module that the file is; NULL: it is not one. */
	const char *kernel_module;
	const struct module_section *sections; /* of the kernel module */
	size_t section_count;
	uint64_t shift; /* added to their assumed addresses */
	const char *path; /* NULL: DIR/name */
};

/*
 * Returns the outcome of the search. For SYMBOLS_FOUND, checks that every mark has its whole chain.
 */
enum symbol_reason marked_check(const struct scratch *s, const struct marked *m);
/* Tells whether one_outer has the name of its ELF symbol. */
bool marked_has_symbols(const struct scratch *s, const struct marked *m);
