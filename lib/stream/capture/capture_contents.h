/* SPDX-License-Identifier: MIT */
/* Contents of a file on their way into a capture: parts that become REC_FILE records. */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_CONTENTS_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
