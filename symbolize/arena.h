/* SPDX-License-Identifier: MIT */
/* Memory that lives until the whole arena is released: names and chains of a symbolizer. */
#pragma once

#include "lib/base/base.h"

struct arena {
	VEC(char *) blocks;
	size_t used, size; /* use and size of the last block */
};

/* Aligned to 8 bytes. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *text, size_t size);
void arena_release(struct arena *a);
