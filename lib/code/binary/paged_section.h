/* SPDX-License-Identifier: MIT */
/* A section of a file whose pages are read on demand. */
#pragma once

#include "lib/base/base.h"

/* Unpacks untrusted compressed bytes into memory of a fixed size. */

enum packing { PACKING_NONE, PACKING_ZLIB, PACKING_ZSTD, PACKING_XZ, PACKING_GZIP };

/*
 * Detects the packing by the first bytes of a file. Never returns PACKING_ZLIB, which has no magic
 * number.
 */
enum packing packing_of(const void *data, size_t size);

/*
 * Unpacks zstd to exactly `size` bytes. Returns -ENOEXEC if the data is damaged or of another size.
 */
int unpack_zstd(const void *data, size_t data_size, void *out, size_t size, struct error *err);

/* `size` bytes of a file from `offset` on. The descriptor is borrowed. */
struct file_part {
	int fd;
	uint64_t offset, size;
};

/*
 * Unpacks zlib from a file in steps into `size` bytes at `out`, reading no more than needed. `out`
 * and the file are borrowed until unpacker_free(). An unreadable file counts as damaged.
 */
struct unpacker;
struct unpacker *unpacker_new(const struct file_part *from, void *out, size_t size);
/* Accepts NULL. */
void unpacker_free(struct unpacker *u);
/*
 * Unpacks at least `until` bytes. Returns -ENOEXEC, now and in later calls, if the data is damaged
 * before or shortly after that point, or if its final size is wrong.
 */
int unpacker_run(struct unpacker *u, size_t until, struct error *err);
/* Bytes unpacked so far. */
size_t unpacker_done(const struct unpacker *u);

/*
 * Unpacks xz, zstd or gzip. Returns a new memory file, sealed against writing and truncation;
 * -EFBIG if the result exceeds max_size bytes or the format requests more memory than compressors
 * do, -ETIME after deadline_ns (CLOCK_MONOTONIC, 0: none), -ENOEXEC if the data is damaged.
 */
int unpack_to_file(enum packing packing, const void *data, size_t data_size, uint64_t max_size,
		   uint64_t deadline_ns, struct error *err);

struct paged_section {
	struct file_part from;
	uint8_t *memory; /* from.size bytes, borrowed; NULL: no section */
	uint64_t *there; /* one bit per page */
};

/* `memory` must be zeroed; parts not needed stay zero. */
void paged_section_init(struct paged_section *s, const struct file_part *from, uint8_t *memory);
/* Reads the bytes from `start` to `end`. Returns false if the file has fewer. */
bool paged_section_need(struct paged_section *s, uint64_t start, uint64_t end);
/* Accepts a zeroed struct. */
void paged_section_release(struct paged_section *s);
