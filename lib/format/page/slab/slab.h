/* SPDX-License-Identifier: MIT */
/*
 * A profile as columns: bytes that take little room once they are compressed, and little time to
 * read. A block is a part of it that can be read once those before it are; columns.def has a row
 * for each column, which writer and reader share.
 *
 * A block begins with "PROFSLAB", a version and the size of the rest; of each column it has the
 * name, the bytes of a value, the number of values and the bytes of all. The lowest bytes of all
 * values come first, then the next ones.
 */
#ifndef PROF_LIB_FORMAT_PAGE_SLAB_SLAB_H
#define PROF_LIB_FORMAT_PAGE_SLAB_SLAB_H

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"

enum slab_block {
	BLOCK_META, /* of the recording and its threads */
	BLOCK_TABLES, /* strings, functions, stacks */
	BLOCK_SAMPLES,
	BLOCK_MARKERS, /* and counters, allocations */
	BLOCK_TEXTS, /* of source files */
	SLAB_BLOCK_COUNT,
};

/* Takes the next bytes of a block. */
typedef void slab_sink(void *ctx, const void *data, size_t size);

struct slab_writer;

/* The profile is borrowed. */
struct slab_writer *slab_writer_new(const struct profile *p);
void slab_write(struct slab_writer *w, enum slab_block block, slab_sink *sink, void *ctx);
void slab_writer_free(struct slab_writer *w);

struct slab_reader;

struct slab_reader *slab_reader_new(void);
/*
 * Reads a block, in the order of enum slab_block; memory is bounded by a multiple of its size.
 * -EBADMSG: it is damaged, -ENOTSUP: another version.
 */
int slab_read(struct slab_reader *r, const void *data, size_t size, struct error *err);
/*
 * Hands over the profile, which the caller frees, once all references in it are found to be good.
 * -EBADMSG as above. Interning does not find its rows.
 */
int slab_reader_take(struct slab_reader *r, struct profile **p, struct error *err);
void slab_reader_free(struct slab_reader *r);

#endif
