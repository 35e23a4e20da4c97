/* SPDX-License-Identifier: MIT */
/* The program from tests/unit/programs, whose functions, inlined calls and lines are known. */
#ifndef PROF_TESTS_UNIT_MARKED_PROGRAM_H
#define PROF_TESTS_UNIT_MARKED_PROGRAM_H

#include "symbolize/debuginfo/debug_file.h"
#include "tests/unit/scratch.h"

#define MARKED_LINK "-nostdlib -static -Wl,--build-id=sha1"
#define MARKED_SOURCES "-I $SRC $SRC/tests/unit/programs/one.c $SRC/tests/unit/programs/two.c"
/* Compiles and links it as `name`. */
#define marked_build(s, name, compiler) \
	scratch_run(s, "%s -O2 %s %s -o %s", compiler, MARKED_LINK, MARKED_SOURCES, name)

/* A file to be named as if it had run as DIR/name; zeroed but for what is set. */
struct marked {
	const char *name;
	const char *symbols; /* another build of it with its marks; NULL: itself */
	const char *const *dirs; /* --debug-dir */
	const char *cache;
	struct debug_fetcher *fetcher;
	int root;
	bool is_kernel;
	const char *kernel_module; /* "[name]", of which it is the file; NULL: it is none */
	const struct module_section *sections; /* of that */
	size_t section_count;
	uint64_t shift; /* of those against where they would be taken to be */
	const char *path; /* NULL: DIR/name */
};

/* What becomes of the search, and, where that is SYMBOLS_FOUND, every mark has its whole chain. */
enum symbol_reason marked_check(const struct scratch *s, const struct marked *m);
/* Is one_outer named by its ELF symbol? */
bool marked_has_symbols(const struct scratch *s, const struct marked *m);

#endif
