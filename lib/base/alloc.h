/* SPDX-License-Identifier: MIT */
/*
 * Allocation that never returns NULL. Out of memory prints one line and exits with status 125. A
 * recorded command keeps running; incomplete files are removed or keep their temporary names;
 * existing files stay as they were.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
/* Overflow of count * size counts as out of memory. */
void *xreallocarray(void *p, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t size);
void *xmemdup(const void *data, size_t size);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

/* Reports out of memory for a library that could not allocate. */
_Noreturn void alloc_failed(void);
