/* SPDX-License-Identifier: MIT */
/*
 * A profile as columns: bytes that compress well and are fast to read. Blocks must be read in
 * order. columns.def defines each column for writer and reader.
 *
 * A block begins with "PROFSLAB", a version and the size of the rest. Each column has a name, the
 * bytes per value, the number of values and their total bytes. The lowest bytes of all values come
 * first, then the next ones.
 */
#pragma once

#include "lib/model/tables/profile.h"

enum slab_block {
	BLOCK_META, /* facts about the recording and its threads */
	BLOCK_TABLES, /* strings, functions, stacks */
	BLOCK_SAMPLES,
	BLOCK_MARKERS, /* markers, counters, allocations */
	BLOCK_TEXTS, /* text of source files */
	SLAB_BLOCK_COUNT,
};

/* Consumes the next bytes of a block. */
typedef void slab_sink(void *ctx, const void *data, size_t size);

struct slab_writer;

/* Borrows the profile. */
struct slab_writer *slab_writer_new(const struct profile *p);
/* Writes the next part of a block, of which samples have many. Returns true if another follows. */
bool slab_write(struct slab_writer *w, enum slab_block block, slab_sink *sink, void *ctx);
void slab_writer_free(struct slab_writer *w);

struct slab_reader;

struct slab_reader *slab_reader_new(void);
/*
 * Reads a part of a block, in the order of enum slab_block. Memory is bounded by a multiple of its
 * size. Returns -EBADMSG if it is damaged, -ENOTSUP for another version.
 */
int slab_read(struct slab_reader *r, const void *data, size_t size, struct error *err);
/*
 * Passes the profile to the caller, who frees it, after checking all its references. Returns
 * -EBADMSG as above. Rows are not interned.
 */
int slab_reader_take(struct slab_reader *r, struct profile **p, struct error *err);
void slab_reader_free(struct slab_reader *r);
