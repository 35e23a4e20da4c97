/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture file as a source of records. Trusts nothing in it: after damage it goes on at the
 * next frame that is whole. Samples of missing frames come as a REC_LOST with LOST_CAPTURE.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_READER_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/source.h"

/* Contents of a file on their way into a capture: parts that become REC_FILE records. */

/* A part of a file. */
struct capture_part {
	uint64_t offset, size;
	void *bytes; /* owned, from malloc(); NULL: they are read from the file */
};

struct capture_contents {
	uint32_t module_id;
	int fd; /* owned */
	struct capture_part *parts; /* owned */
	size_t count;
	size_t part; /* the next one to be read */
	uint64_t at; /* likewise, in it */
};

/* NULL is fine. */
void capture_contents_free(struct capture_contents *c);
/*
 * Writes the next piece as a record; `into` has room for one of the maximum size. Returns its
 * size; 0: there is no more. What cannot be read is left out.
 */
size_t capture_contents_next(struct capture_contents *c, void *into);

struct capture_reader;

struct capture_counts {
	uint64_t frames, records; /* read so far */
	uint64_t end_ns; /* latest time of a record so far; 0: none */
	uint64_t lost_samples; /* in missing frames */
	uint64_t skipped_bytes; /* outside of whole frames */
	uint64_t unknown_records; /* of kinds that this version does not know, or damaged */
	bool is_complete; /* the recording ended by itself, and its end has been read */
};

/* True for the first bytes of a capture file, of which `size` are there. */
bool capture_is_one(const void *bytes, size_t size);

/*
 * Reads the header. -EBADMSG if it is damaged or of a later version. The descriptor is borrowed
 * until capture_reader_free(), and read from its beginning; it must be a file.
 */
int capture_reader_open(struct capture_reader **out, int fd, struct error *err);
void capture_reader_free(struct capture_reader *r);
/* Borrowed; its files are NULL. An error of reading the file ends it. */
struct source *capture_reader_source(struct capture_reader *r);
/*
 * Reads only what is needed for records from one time to another, CLOCK_MONOTONIC ns: from the
 * latest epoch that begins by then, to a little more; and all contents of files and the facts at
 * the end. Call before the first record.
 */
int capture_reader_select(struct capture_reader *r, uint64_t from_ns, uint64_t to_ns,
			  struct error *err);
/*
 * Reads a window that ends at end_ns, CLOCK_MONOTONIC: of the next one, stacks that came late and
 * late records of before. That one leaves these out, so that each is in one window. Call before the
 * first record.
 */
void capture_reader_limit(struct capture_reader *r, uint64_t end_ns);
/* True if the record read last repeats what was before. */
bool capture_reader_is_state(const struct capture_reader *r);
/* True if the record read last is the first one of an epoch: later ones need no earlier stack. */
bool capture_reader_begins_epoch(const struct capture_reader *r);
const struct capture_header *capture_reader_header(const struct capture_reader *r);
void capture_reader_count(const struct capture_reader *r, struct capture_counts *counts);

#endif
