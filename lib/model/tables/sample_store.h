/* SPDX-License-Identifier: MIT */
/*
 * Packs rows of samples into about 4 bytes each: as differences from values predicted from earlier
 * rows, in codes of few bits. Works best for rows in order of time with recurring stacks.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/model/tables/samples.h"

/* Upper bound for the packed bytes of `count` rows. */
#define SAMPLE_PACK_MAX(count) ((size_t)(count)*80 + 64)

/* Packs up to UINT32_MAX rows; `out` has room for SAMPLE_PACK_MAX(count). Returns the size. */
size_t sample_pack(const struct sample *rows, size_t count, unsigned char *out);
/* Unpacks `count` rows. Returns false if the bytes end early; the rows are then undefined. */
bool sample_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count);

/*
 * Keeps packed rows in memory up to a limit, and the rest in an unnamed file. Also limits the
 * memory of unpacked rows, which are faster to read and change. Shared by all profiles of the
 * process; thread-safe.
 */

/* Limit for packed rows in memory, bytes. */
#define SAMPLE_STORE_MAX (64u << 20)
/* Limit for unpacked rows, bytes: while recording, and in commands that only read profiles. */
#define SAMPLE_STORE_ROOM (2u << 20)
#define SAMPLE_STORE_ROOM_OF_READERS (160u << 20)

struct stored_bytes {
	unsigned char *bytes; /* NULL: the bytes are in the file */
	uint64_t offset; /* position in the file */
	uint32_t size, room; /* `room`: bytes reserved in the file */
};

/*
 * Sets the file, which the store then owns; -1: none, so everything stays in memory. `max` is
 * SAMPLE_STORE_MAX except in tests. Without this call, a file is created in /var/tmp once needed.
 */
void sample_store_set_file(int fd, uint64_t max);
/* Copies the bytes into `s`, replacing its previous bytes; `s` is zeroed at first. */
void sample_store_put(struct stored_bytes *s, const unsigned char *bytes, uint32_t size);
/*
 * Returns the bytes in memory, or reads them from the file into `buffer`, which must be large
 * enough.
 */
const unsigned char *sample_store_get(const struct stored_bytes *s, unsigned char *buffer);
void sample_store_drop(struct stored_bytes *s);
/* Sets the room for unpacked rows, in bytes. The default is SAMPLE_STORE_ROOM. */
void sample_store_set_room(uint64_t bytes);
/*
 * Reserves this many bytes of the room for unpacked rows, to be returned later; false if too little
 * is left.
 */
bool sample_store_take_room(uint64_t bytes);
void sample_store_give_room(uint64_t bytes);
/* Returns the size of all packed rows in memory. */
uint64_t sample_store_in_memory(void);
