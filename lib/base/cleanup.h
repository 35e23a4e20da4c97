/* SPDX-License-Identifier: MIT */
/* Memory: its allocation, and scope-bound release, also of descriptors and streams. */
#pragma once

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* DEFINE_CLEANUP(struct foo *, foo_free) makes _cleanup_(foo_free) usable on a struct foo *. */
#define DEFINE_CLEANUP(type, func) \
	static inline void func##_cleanup(type *p) \
	{ \
		if (*p) \
			func(*p); \
	}

#define _cleanup_(func) __attribute__((cleanup(func##_cleanup)))

static inline void free_cleanup(void *p)
{
	free(*(void **)p);
}

/* Closes a descriptor, unless it is negative. */
static inline void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

static inline void close_cleanup(const int *fd)
{
	fd_close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_ _cleanup_(free)
#define _cleanup_close_ _cleanup_(close)
#define _cleanup_fclose_ _cleanup_(fclose)
#define _cleanup_closedir_ _cleanup_(closedir)

/* Transfers ownership: returns the pointer and sets it to NULL. */
#define steal(p) \
	({ \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL; \
		stolen_; \
	})

static inline int steal_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/*
 * Allocation that never returns NULL. Out of memory prints one line and exits with status 125. A
 * recorded command keeps running; incomplete files are removed or keep their temporary names;
 * existing files stay as they were.
 */

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
