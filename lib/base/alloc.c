/* SPDX-License-Identifier: MIT */
#include "lib/base/cleanup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"

/* Exit status when memory runs out. */
#define EXIT_OUT_OF_MEMORY 125

/* `size` is how much could not be had; 0: unknown. */
static _Noreturn void run_out(size_t size)
{
	static bool has_failed;
	char text[160], needed[40] = "";

	/* A second thread that runs out of memory waits for the first, which ends the process. */
	while (__atomic_exchange_n(&has_failed, true, __ATOMIC_RELAXED))
		;
	if (size)
		snprintf(needed, sizeof(needed), " (%zu bytes more)", size);
	snprintf(text, sizeof(text),
		 "prof: out of memory%s: free some, or raise the limit of the process (ulimit -v, "
		 "-d) or of its control group\n",
		 needed);
	log_write(text);
	_exit(EXIT_OUT_OF_MEMORY);
}

_Noreturn void alloc_failed(void)
{
	run_out(0);
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
		run_out(size);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(at_least_one(count), at_least_one(size));

	if (!p)
		run_out(count * size);
	return p;
}

void *xrealloc(void *p, size_t size)
{
	void *moved = realloc(p, at_least_one(size));

	if (!moved)
		run_out(size);
	return moved;
}

void *xreallocarray(void *p, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		run_out(SIZE_MAX);
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
