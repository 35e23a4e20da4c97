/* SPDX-License-Identifier: MIT */
/* What a word with a typing mistake was meant to be. */
#ifndef PROF_LIB_BASE_NEAR_MISS_H
#define PROF_LIB_BASE_NEAR_MISS_H

#include <stddef.h>

/*
 * How many letters have to be added, left out, replaced or swapped with their neighbour to make one
 * word of the other. Words of more than 32 bytes are not compared: the result is SIZE_MAX.
 */
size_t near_miss_distance(const char *a, const char *b);
/* The nearest of the candidates, the first of several; NULL: none is as near as a mistake would be.
 */
const char *near_miss(const char *word, const char *const *candidates, size_t count);

#endif
