/* SPDX-License-Identifier: MIT */
/* Shared by the tests of lib/base/outfile; every function asserts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/outfile.h"

/* Gives each test a fresh working directory. */
int enter_folder(void **state);
int leave_folder(void **state);
#define IN_FOLDER(test) TEST_WITH(test, enter_folder, leave_folder)

/* Opens it for the invoking user. */
struct outfile *open_file(const char *path, bool gzip);
/* Expects success, and frees the file. */
void commit(struct outfile *f);
/* Expects outfile_open() to fail for `owner` with that code and text. */
void check_refused_as(struct identity owner, const char *path, int code, const char *text);
void check_refused(const char *path, int code, const char *text);

void put_file(const char *path, const char *text);
void check_content(const char *path, const void *data, size_t size);
/* Returns the number of entries in the working directory. */
int count_names(void);
/* Tells whether the file system has unnamed files. */
bool has_unnamed_files(void);
/* Makes digits that compress somewhat, or bytes that hardly do. Free the result. */
char *make_data(size_t size, bool is_random);
