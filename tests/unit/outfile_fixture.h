/* SPDX-License-Identifier: MIT */
/* What the tests of lib/base/outfile share; all asserting. */
#ifndef PROF_TESTS_UNIT_OUTFILE_FIXTURE_H
#define PROF_TESTS_UNIT_OUTFILE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/outfile.h"

/* Each test works in a fresh folder, its working directory. */
int enter_folder(void **state);
int leave_folder(void **state);
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

/* For the invoking user. */
struct outfile *open_file(const char *path, bool gzip);
/* Succeeds, and frees. */
void commit(struct outfile *f);
/* As `owner`, outfile_open() fails with that code and text. */
void check_refused_as(struct identity owner, const char *path, int code, const char *text);
void check_refused(const char *path, int code, const char *text);

void put_file(const char *path, const char *text);
void check_content(const char *path, const void *data, size_t size);
/* Entries of the working directory. */
int count_names(void);
/* Can the file system there have files without a name? */
bool has_unnamed_files(void);
/* Digits that compress somewhat, or bytes that hardly do. Free it. */
char *make_data(size_t size, bool is_random);

#endif
