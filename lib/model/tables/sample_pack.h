/* SPDX-License-Identifier: MIT */
/*
 * Packs rows of samples into about 4 bytes each: as differences from values predicted from earlier
 * rows, in codes of few bits. Works best for rows in order of time with recurring stacks.
 */
#pragma once

#include "lib/model/tables/samples.h"

/* Upper bound for the packed bytes of `count` rows. */
#define SAMPLE_PACK_MAX(count) ((size_t)(count)*80 + 64)

/* Packs up to UINT32_MAX rows; `out` has room for SAMPLE_PACK_MAX(count). Returns the size. */
size_t sample_pack(const struct sample *rows, size_t count, unsigned char *out);
/* Unpacks `count` rows. Returns false if the bytes end early; the rows are then undefined. */
bool sample_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count);
