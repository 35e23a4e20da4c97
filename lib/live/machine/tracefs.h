/* SPDX-License-Identifier: MIT */
/* Finds the kernel's tracepoints in tracefs. */
#pragma once

#include "lib/base/base.h"

/* True for "NAME" or "CATEGORY:NAME" of letters, digits, '_' and '-'. */
bool tracefs_is_name(const char *name);
/*
 * Finds a tracepoint's id. Adds the category to a name without one, in the buffer of `size` bytes,
 * if only one category has the name. Returns 0 or a negative errno, with a hint.
 */
int tracefs_find(char *name, size_t size, uint64_t *id, struct error *err);
/*
 * Returns the text of the `format` file of "CATEGORY:NAME", which the caller frees, and its size;
 * NULL with err on failure.
 */
char *tracefs_read_format(const char *name, size_t *size, struct error *err);
/*
 * Returns "CATEGORY:NAME" of all tracepoints, one per line, which the caller frees; NULL if they
 * cannot be read.
 */
char *tracefs_read_names(void);
