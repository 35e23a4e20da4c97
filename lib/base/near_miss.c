/* SPDX-License-Identifier: MIT */
#include "lib/base/near_miss.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 32
/* Allow one mistake per this many letters, and one in a word of two. */
#define LETTERS_PER_MISTAKE 3

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t near_miss_distance(const char *a, const char *b)
{
	/* rows[i % 3][j]: distance between the first i bytes of a and the first j of b. */
	size_t rows[3][WORD_MAX + 1], a_size = strlen(a), b_size = strlen(b);

	if (a_size > WORD_MAX || b_size > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		const size_t *above = rows[(i - 1) % 3], *swapped = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = min(row[j], min(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min(row[j], swapped[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

const char *near_miss(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word), allowed = length / LETTERS_PER_MISTAKE;
	const char *nearest = NULL;

	if (!allowed && length > 1)
		allowed = 1;
	for (size_t i = 0; i < count && allowed; i++) {
		size_t distance = near_miss_distance(word, candidates[i]);

		if (distance > allowed || (nearest && distance == allowed))
			continue;
		nearest = candidates[i];
		allowed = distance;
	}
	return nearest;
}
