/* SPDX-License-Identifier: MIT */
/*
 * Titles of rows. Processes of one name get the first argument in which they differ ("cc1
 * parse.c"), threads of one name within a process by their tids ("worker 1235").
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_TITLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_TITLES_H

#include "lib/format/firefox/write/firefox_rows.h"

/* Sets the titles of rows of threads. Call it before views are added. */
void title_rows(struct firefox_rows *r, struct file_strings *strings);

#endif
