/* SPDX-License-Identifier: MIT */
/*
 * The ring buffer of a CPU, into which BPF programs write: see Documentation/bpf/ringbuf.rst of the
 * kernel. Reading takes what is there when it begins and no more, so that one round of reading
 * brings in no more than the ring holds, however fast it is filled meanwhile.
 */
#ifndef PROF_LIB_LIVE_BPF_RING_H
#define PROF_LIB_LIVE_BPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd; /* of the map; readable when a program has asked for its reader to be woken */
	uint64_t size; /* a power of two */
	uint32_t cpu; /* the owner's to set */
	/* How far it was read, and was written, in bytes since the beginning. */
	unsigned long *consumed;
	const unsigned long *produced;
	const uint8_t *data; /* the ring twice in a row: no record wraps */
};

/* `data` is what a program wrote, not validated; valid during the call. */
typedef void ring_record_fn(void *ctx, const void *data, size_t size);

/* A new map of that size, which is a power of two of pages. A descriptor or a negative errno. */
int ring_make(uint64_t size);
/* A map of that size, whose descriptor the ring takes over. 0 or a negative errno. */
int ring_open(struct ring *ring, int fd, uint64_t size);
void ring_close(struct ring *ring);
/*
 * Hands over what is there, oldest first, up to a record that is still being written: whoever
 * writes it may have lost the CPU meanwhile, even to us. False: there is one, and what is behind it
 * waits.
 */
bool ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx);
/* Is there one? */
bool ring_is_blocked(const struct ring *ring);
/* The last time, after which nothing is read: leaves such records out, and says how many. */
unsigned int ring_drain_rest(struct ring *ring, ring_record_fn *fn, void *ctx);

#endif
