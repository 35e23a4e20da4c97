/* SPDX-License-Identifier: MIT */
/*
 * Codes a chunk of samples as columns of bytes that are fast to read, and compress well: each
 * column as its lowest value and the distances from it, in as few bytes as the chunk needs, the
 * lowest bytes of all rows first.
 */
#pragma once

#include "lib/model/tables/samples.h"

/* Upper bound for the bytes of `count` rows. */
#define ROW_PLANES_MAX(count) ((size_t)(count)*48 + 64)

/* Codes rows in order of time; `out` has room for ROW_PLANES_MAX(count). Returns the size. */
size_t row_planes_pack(const struct sample *rows, size_t count, unsigned char *out);
/* Decodes `count` rows. Returns false unless they take all of the bytes; rows are then undefined.
 */
bool row_planes_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count);
