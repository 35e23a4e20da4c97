/* SPDX-License-Identifier: MIT */
/*
 * Rows of samples in about 4 bytes each: as differences from what the rows before foretell, in
 * codes of few bits. Rows in order of time, with stacks that repeat, take the least.
 */
#ifndef PROF_LIB_MODEL_TABLES_SAMPLE_PACK_H
#define PROF_LIB_MODEL_TABLES_SAMPLE_PACK_H

#include "lib/model/tables/samples.h"

/* Bytes that so many rows take at most. */
#define SAMPLE_PACK_MAX(count) ((size_t)(count)*80 + 64)

/* Packs up to UINT32_MAX rows; `out` has room for SAMPLE_PACK_MAX(count). Returns the bytes. */
size_t sample_pack(const struct sample *rows, size_t count, unsigned char *out);
/* Unpacks `count` rows. False if the bytes end before; the rows are then undefined. */
bool sample_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count);

#endif
