/* SPDX-License-Identifier: MIT */
/* Reads memory of recorded processes without ever blocking for long. */
#pragma once

#include "lib/base/base.h"

/* A zeroed struct is ready for use. */
struct late_reader {
	struct late_worker *worker; /* NULL: not started */
	bool is_stuck; /* a read has not returned; no other begins before it does */
	struct late_pages *pages; /* pages read before; NULL: none yet */
	pid_t pid;
	uint64_t time; /* earliest acceptable time of the data */
	struct late_lasting *lasting; /* LASTING rows; NULL: none */
	const struct late_lasting *own_lasting; /* row of the process */
	size_t next_lasting; /* next row to replace */
	uint64_t second; /* current second of the recording's clock */
	size_t left; /* bytes left to read in this second */
	uint64_t blocked_ns; /* time blocked by absent pages in this second */
	uint64_t refused; /* reads that would have taken too long */
};

void late_reader_release(struct late_reader *r);
/*
 * Selects the process of the next reads. `time`: the recording's, in ns. Memory last read after
 * `time` is recent enough and not read again.
 */
void late_reader_begin(struct late_reader *r, pid_t pid, uint64_t time);
/*
 * Notes that the process's memory [start, end) will not change any more: earlier reads of it stay
 * valid.
 */
void late_reader_keep(struct late_reader *r, pid_t pid, uint64_t start, uint64_t end);
/*
 * Copies memory of the process; ctx: the reader. Returns false if it is unreadable, or not readable
 * now.
 */
bool late_reader_read(void *ctx, uint64_t addr, void *to, size_t size);
