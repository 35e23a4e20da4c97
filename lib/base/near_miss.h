/* SPDX-License-Identifier: MIT */
/* Guesses the word that a mistyped one was meant to be. */
#ifndef PROF_LIB_BASE_NEAR_MISS_H
#define PROF_LIB_BASE_NEAR_MISS_H

#include <stddef.h>

/*
 * Counts the letters to add, drop, replace or swap with their neighbour to turn one word into the
 * other. SIZE_MAX if a word has more than 32 bytes.
 */
size_t near_miss_distance(const char *a, const char *b);
/*
 * Returns the nearest candidate, the first of equally near ones; NULL if all are too far for a
 * typo.
 */
const char *near_miss(const char *word, const char *const *candidates, size_t count);

#endif
