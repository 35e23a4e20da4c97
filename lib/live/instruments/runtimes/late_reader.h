/* SPDX-License-Identifier: MIT */
/* Reads memory of recorded processes, without ever waiting for long. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_LATE_READER_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_LATE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/code/runtimes/runtime.h"

/* A zeroed struct is ready for use. */
struct late_reader {
	struct late_worker *worker; /* NULL: not started */
	bool is_stuck; /* a read has not come back: until then there are no others */
	struct late_pages *pages; /* read before; NULL: none yet */
	pid_t pid;
	uint64_t time; /* the reads are to be as late at least */
	struct late_lasting *lasting; /* LASTING rows; NULL: none */
	const struct late_lasting *own_lasting; /* the process's row */
	size_t next_lasting; /* row that gives way */
	uint64_t second; /* of the recording's clock, in which */
	size_t left; /* bytes that may still be read in it */
	uint64_t blocked_ns; /* in it, by pages that were not there */
	uint64_t refused; /* reads that would have taken too long */
};

void late_reader_release(struct late_reader *r);
/*
 * Selects the process of the next reads. `time`: the recording's, in ns. What was read after it
 * before is not read again: it is as new as what is to be read needs it.
 */
void late_reader_begin(struct late_reader *r, pid_t pid, uint64_t time);
/* Notes memory of the process that stays as it is from now on: reads of it are as new as any. */
void late_reader_keep(struct late_reader *r, pid_t pid, const struct runtime_memory *memory);
/* A runtime_read_fn; ctx: the reader. */
bool late_reader_read(void *ctx, uint64_t addr, void *to, size_t size);

#endif
