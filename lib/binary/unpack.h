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
 * xz, zstd or gzip: a new memory file, sealed, so that nobody can change or truncate it. -EFBIG
 * where more than max_size bytes come out or the format asks for more memory than compressors do,
 * -ETIME after deadline_ns (CLOCK_MONOTONIC, 0: none), -ENOEXEC where it is damaged.
 */
int unpack_to_file(enum packing packing, const void *data, size_t data_size, uint64_t max_size,
		   uint64_t deadline_ns, struct error *err);

#endif
