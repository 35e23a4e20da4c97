/* SPDX-License-Identifier: MIT */
/*
 * Reads the ring buffer of a CPU, into which BPF programs write: see Documentation/bpf/ringbuf.rst
 * of the kernel. A read takes only the data present when it begins, so one round reads no more than
 * the ring holds, however fast it is filled meanwhile.
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/base/base.h"

/* Records from the rings: those of the wire and those of live_record.h. */

/* record_is_valid() that also accepts the kinds that never leave the recorder. */
bool ring_record_is_valid(const struct rec *rec, size_t available);

struct ring {
	int fd; /* descriptor of the map; readable once a program requests a wake-up */
	uint64_t size; /* a power of two */
	uint32_t cpu; /* CPU number, set by the owner */
	/* Positions of reader and writer, in bytes since the beginning. */
	unsigned long *consumed;
	const unsigned long *produced;
	const uint8_t *data; /* data mapped twice in a row, so that no record wraps */
};

/* `data` was written by a program, is not validated, and is valid only during the call. */
typedef void ring_record_fn(void *ctx, const void *data, size_t size);

/*
 * Makes a map of `size` bytes, a power of two of pages. Returns a descriptor or a negative errno.
 */
int ring_make(uint64_t size);
/* Opens a map of `size` bytes; takes over its descriptor. Returns 0 or a negative errno. */
int ring_open(struct ring *ring, int fd, uint64_t size);
void ring_close(struct ring *ring);
/*
 * Passes on the records present, oldest first, up to one still being written: its writer may have
 * been preempted, even by this process. Returns false if there is such a record; those after it
 * wait.
 */
bool ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx);
/* True if the next record is still being written. */
bool ring_is_blocked(const struct ring *ring);
/* The final ring_drain(): skips records still being written and returns their number. */
unsigned int ring_drain_rest(struct ring *ring, ring_record_fn *fn, void *ctx);
