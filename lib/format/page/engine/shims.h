/* SPDX-License-Identifier: MIT */
/* Included first: supplies glibc functions that the C library for WebAssembly lacks. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef ENODATA
#define ENODATA 61
#endif
/* The GNU version returns the text. */
#define strerror_r(code, text, size) ((void)(text), (void)(size), strerror(code))
/* Missing in some versions. */
#define qsort_r page_sort

void page_sort(void *rows, size_t count, size_t size,
	       int (*compare)(const void *a, const void *b, void *ctx), void *ctx);
