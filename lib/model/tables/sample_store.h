/* SPDX-License-Identifier: MIT */
/*
 * Keeps packed rows in memory, and beyond a bound in a file without a name. Gives room for rows
 * that are not packed, to be read and changed sooner. All profiles of the process share these.
 * Calls from several threads are allowed.
 */
#ifndef PROF_LIB_MODEL_TABLES_SAMPLE_STORE_H
#define PROF_LIB_MODEL_TABLES_SAMPLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that stay in memory. */
#define SAMPLE_STORE_MAX (64u << 20)
/* Bytes of rows that are not packed: while recording, and of a command that only reads profiles. */
#define SAMPLE_STORE_ROOM (2u << 20)
#define SAMPLE_STORE_ROOM_OF_READERS (256u << 20)

struct stored_bytes {
	unsigned char *bytes; /* NULL: they are in the file */
	uint64_t offset; /* in the file */
	uint32_t size, room; /* room: bytes of the file that are its own */
};

/*
 * Sets the file, which the store then owns; -1: none, so that all stays in memory. `max` is
 * SAMPLE_STORE_MAX but in tests. Without a call, a file is made in /var/tmp once it is needed.
 */
void sample_store_set_file(int fd, uint64_t max);
/* Copies the bytes, in place of those that `s` has; a zeroed one has none. */
void sample_store_put(struct stored_bytes *s, const unsigned char *bytes, uint32_t size);
/* Returns the bytes: their own, or, read from the file, in `buffer`, which has room for them. */
const unsigned char *sample_store_get(const struct stored_bytes *s, unsigned char *buffer);
void sample_store_drop(struct stored_bytes *s);
/* Sets the room for rows that are not packed, in bytes. At first it is SAMPLE_STORE_ROOM. */
void sample_store_set_room(uint64_t bytes);
/* Takes that room, to be given back; false: it is taken already. */
bool sample_store_take_room(uint64_t bytes);
void sample_store_give_room(uint64_t bytes);
/* Returns the bytes of all that is packed in memory. */
uint64_t sample_store_in_memory(void);

#endif
