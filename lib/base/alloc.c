/* SPDX-License-Identifier: MIT */
#include "lib/base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"

/* Exit status when memory runs out. */
#define EXIT_OUT_OF_MEMORY 125

_Noreturn void alloc_failed(void)
{
	static bool has_failed;

	/* A second thread that runs out of memory waits for the first, which ends the process. */
	while (__atomic_exchange_n(&has_failed, true, __ATOMIC_RELAXED))
		;
	log_write("prof: out of memory\n");
	_exit(EXIT_OUT_OF_MEMORY);
}

/* malloc(0) and realloc(p, 0) may return NULL without having failed. */
static size_t at_least_one(size_t size)
{
	return size ? size : 1;
}

void *xmalloc(size_t size)
{
	void *p = malloc(at_least_one(size));

	if (!p)
		alloc_failed();
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(at_least_one(count), at_least_one(size));

	if (!p)
		alloc_failed();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	void *moved = realloc(p, at_least_one(size));

	if (!moved)
		alloc_failed();
	return moved;
}

void *xreallocarray(void *p, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		alloc_failed();
	return xrealloc(p, total);
}

void *xmemdup(const void *data, size_t size)
{
	void *copy = xmalloc(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

char *xstrdup(const char *text)
{
	return xmemdup(text, strlen(text) + 1);
}

char *xstrndup(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *copy = xmalloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *xvasprintf(const char *fmt, va_list args)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		alloc_failed();
	return text;
}

char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	return text;
}
