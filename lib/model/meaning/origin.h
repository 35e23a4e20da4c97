/* SPDX-License-Identifier: MIT */
/*
 * Code generated at run time: finds the file that generated it, describes functions without names,
 * and advises how to make the file name them.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* True for anonymous memory, files of memory, and images of a heap. */
bool made_code_is(const struct profile *p, module_id module);

/*
 * Returns, by frame_id, the file that generated the code of each frame without a name; NO_MODULE
 * for unknown makers and for all other frames. The maker is the file of the nearest caller that is
 * not a thread pool or, if that is an interpreter that generates no code, a library with a compiler
 * that is mapped along with it; if nothing is known about that file, a maker of code that the code
 * calls. The caller frees the array.
 */
module_id *made_code_find_makers(const struct profile *p);

/* Appends "code made by libllvmlite", "code made at run time" for NO_MODULE. */
void made_code_describe(const struct profile *p, module_id maker, struct strbuf *out);
/* Appends "unnamed code of ffmpeg", for parts of a file that no symbol covers. */
void made_code_describe_unnamed(const struct profile *p, module_id file, struct strbuf *out);
/* True for such texts. */
bool made_code_is_description(const char *name);

#define MADE_BY "code made by "
#define MADE_AT_RUN_TIME "code made at run time"

/* Returns who generated the code by its description, "" if unknown; NULL: it is code of a file. */
static inline const char *made_code_maker_of(const char *name)
{
	if (text_starts_with(name, MADE_BY))
		return name + strlen(MADE_BY);
	return strcmp(name, MADE_AT_RUN_TIME) == 0 ? "" : NULL;
}

/* Returns such a text that names no file. */
const char *made_code_without_file(const char *name);

/*
 * Appends how to make the maker name its code, or that there is no way. Appends nothing without
 * advice, as for interpreters, whose own functions have names.
 */
void made_code_advise(const struct profile *p, module_id maker, struct strbuf *out);

/* Libraries that nearly every program calls, so that their callers are more informative. */

/* True for libc, the vDSO, an allocator or another such library; false for NO_MODULE. */
bool is_of_common_library(const struct profile *p, module_id module);

/*
 * Origins of code: the user's, or part of a package, a language's runtime or the system. Determined
 * by paths and names, so that profiles of any program and machine can be classified.
 */

enum origin {
	/* The kernel, system libraries, and standard libraries inside of binaries. */
	ORIGIN_SYSTEM,
	ORIGIN_RUNTIME, /* an interpreter and the standard library of its language */
	ORIGIN_PACKAGE, /* a library installed by a language's package manager */
	ORIGIN_OWN,
};

/* Returns the origin of each frame, an enum origin by frame_id; the caller frees it. */
uint8_t *origins_of_frames(const struct profile *p);
