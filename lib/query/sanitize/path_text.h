/* SPDX-License-Identifier: MIT */
/* Finds paths in texts. */
#ifndef PROF_LIB_QUERY_SANITIZE_PATH_TEXT_H
#define PROF_LIB_QUERY_SANITIZE_PATH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

bool path_begins_with(const char *path, size_t size, const char *prefix);
/* True for bytes that end a path in a text. */
bool path_is_end(char c);
/* True if a folder's name ends there. */
bool path_is_name_end(const char *path, size_t size, size_t at);
/* '/' or '\\' */
bool path_is_separator(char c);
/*
 * Returns the end of "//user:password@machine:80" after a colon, as in the address of a page; `at`
 * if there is no such thing.
 */
size_t path_machine_end(const char *text, size_t size, size_t at);
/*
 * Returns the end of the relative path that begins at text[at]; `at` if none does. Relative paths
 * begin with "./", "../" or "home/", lead to a file with a known suffix, or are Windows'.
 * "github.com/x/y.Run" and "kworker/0:1" are not paths.
 */
size_t path_relative_end(const char *text, size_t size, size_t at);

#endif
