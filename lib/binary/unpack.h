/* SPDX-License-Identifier: MIT */
/* Untrusted compressed bytes, unpacked into memory whose size was decided on beforehand. */
#ifndef PROF_LIB_BINARY_UNPACK_H
#define PROF_LIB_BINARY_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

enum packing { PACKING_NONE, PACKING_ZLIB, PACKING_ZSTD, PACKING_XZ, PACKING_GZIP };

/* By the first bytes of a file; never PACKING_ZLIB, which has no mark of its own. */
enum packing packing_of(const void *data, size_t size);

/* zlib or zstd: fills exactly `size` bytes. -ENOEXEC where it is damaged or of another size. */
int unpack_exactly(enum packing packing, const void *data, size_t data_size, void *out, size_t size,
		   struct error *err);

/*
 * zlib in steps, into `size` bytes at `out`: what is never asked for is never unpacked. Both kinds
 * of bytes are borrowed until it is freed.
 */
struct unpacker;
struct unpacker *unpacker_new(const void *data, size_t data_size, void *out, size_t size);
/* NULL is fine. */
void unpacker_free(struct unpacker *u);
/*
 * Until so many bytes are there. -ENOEXEC, then and ever after, where it is damaged before that or
 * soon behind it or, with all of them, of another size.
 */
int unpacker_run(struct unpacker *u, size_t until, struct error *err);
/* How many bytes are there. */
size_t unpacker_done(const struct unpacker *u);

/*
 * xz, zstd or gzip: a new memory file, sealed, so that nobody can change or truncate it. -EFBIG
 * where more than max_size bytes come out or the format asks for more memory than compressors do,
 * -ETIME after deadline_ns (CLOCK_MONOTONIC, 0: none), -ENOEXEC where it is damaged.
 */
int unpack_to_file(enum packing packing, const void *data, size_t data_size, uint64_t max_size,
		   uint64_t deadline_ns, struct error *err);

#endif
