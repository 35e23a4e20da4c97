/* SPDX-License-Identifier: MIT */
/* Reads memory of recorded processes, and never blocks for long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A zeroed struct is ready for use. */
struct late_reader {
	struct late_worker *worker; /* NULL: not started */
	bool is_stuck; /* a read has not returned: no other begins before it does */
	struct late_pages *pages; /* read before; NULL: none yet */
	pid_t pid;
	uint64_t time; /* the data must not be older */
	struct late_lasting *lasting; /* LASTING rows; NULL: none */
	const struct late_lasting *own_lasting; /* the process's row */
	size_t next_lasting; /* next row to replace */
	uint64_t second; /* current second of the recording's clock */
	size_t left; /* bytes that may still be read in this second */
	uint64_t blocked_ns; /* time blocked in this second by absent pages */
	uint64_t refused; /* reads that would have taken too long */
};

void late_reader_release(struct late_reader *r);
/*
 * Selects the process of the next reads. `time`: the recording's, in ns. Memory that was last read
 * after `time` is recent enough, and is not read again.
 */
void late_reader_begin(struct late_reader *r, pid_t pid, uint64_t time);
/*
 * Notes that memory of the process, [start, end), will not change any more: earlier reads of it
 * stay valid.
 */
void late_reader_keep(struct late_reader *r, pid_t pid, uint64_t start, uint64_t end);
/* Copies memory of the process; ctx: the reader. False: unreadable, or not now. */
bool late_reader_read(void *ctx, uint64_t addr, void *to, size_t size);
