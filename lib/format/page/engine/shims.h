/* SPDX-License-Identifier: MIT */
/* Included first: supplies glibc functions that the C library for WebAssembly lacks. */
#pragma once

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#ifndef ENODATA
#define ENODATA 61
#endif
/* Texts, locales and the reading of all numbers would make each page a few kilobytes larger. */
#define strerror_r(code, text, size) (snprintf(text, size, "error %d", code), text)
#define newlocale(mask, name, base) ((void)(base), (locale_t)1)
#define freelocale(locale) ((void)(locale))
#define strtod_l(text, end, locale) ((void)(locale), page_decimal(text))
/* Missing in some versions. */
#define qsort_r page_sort

void page_sort(void *rows, size_t count, size_t size,
	       int (*compare)(const void *a, const void *b, void *ctx), void *ctx);
/* Reads a decimal number; exact for up to 15 digits, which no share in a profile exceeds. */
double page_decimal(const char *text);
