/* SPDX-License-Identifier: MIT */
/*
 * Code that programs make at run time: which file made it, how it is called while nobody names its
 * functions, and what makes that file name them.
 */
#pragma once

#include "lib/base/strbuf.h"
#include "lib/model/tables/profile.h"

/* True for anonymous memory, files of memory, and images of a heap. */
bool made_code_is(const struct profile *p, module_id module);

/*
 * Returns the file that made the code of each frame without a name, by frame; NO_MODULE for unknown
 * makers, and for all other frames. It is the nearest caller's, or if that is an interpreter which
 * makes no code, the library with a compiler that is mapped beside it. The caller frees.
 */
module_id *made_code_find_makers(const struct profile *p);

/* Appends "code made by libllvmlite", "code made at run time" for NO_MODULE. */
void made_code_describe(const struct profile *p, module_id maker, struct strbuf *out);
/* Appends "unnamed code of ffmpeg", for parts of a file that no symbol covers. */
void made_code_describe_unnamed(const struct profile *p, module_id file, struct strbuf *out);
/* True for such texts. */
bool made_code_is_description(const char *name);
/* Returns such a text that names no file. */
const char *made_code_without_file(const char *name);

/*
 * Appends what makes the maker name its code, or that nothing does; nothing if there is no advice,
 * as for interpreters, whose own functions have names.
 */
void made_code_advise(const struct profile *p, module_id maker, struct strbuf *out);
