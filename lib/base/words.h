/* SPDX-License-Identifier: MIT */
/* A command line, split into words as a shell does it, but without anything else of a shell. */
#ifndef PROF_LIB_BASE_WORDS_H
#define PROF_LIB_BASE_WORDS_H

/*
 * Words are separated by blanks; quotes and backslashes work as in a shell. NULL-terminated, to be
 * freed with words_free(); NULL: a quote has no end, or there is no word.
 */
char **words_split(const char *text);
/* NULL is fine. */
void words_free(char **words);

#endif
