/* SPDX-License-Identifier: MIT */
/*
 * The layout of a capture file: a header, then blocks of packed records. See prof-capture(5). All
 * numbers are little-endian, the byte order of every machine that prof records.
 */
#pragma once

#include "lib/base/base.h"

/*
 * A part of a capture that becomes a capture of its own with a different header: the retained end,
 * or one of consecutive windows.
 */

struct capture_window {
	uint64_t at, end; /* offsets of the window's first block and of its end */
	uint64_t start_ns; /* CLOCK_MONOTONIC time of the first record */
	uint64_t end_ns; /* start of the next window; 0: the recording ended */
	uint64_t next_at; /* offset of the next window; 0: none yet */
	uint64_t held; /* number of samples in the window; 0: unknown */
	uint64_t start_realtime_ns; /* CLOCK_REALTIME; set by the caller, not by the writer */
	uint64_t sequence, samples; /* sequence and sample counters for the next block's header */
};

/*
 * Copies a window from a capture that may still grow, and completes it: its own header, its blocks,
 * and a final block. Returns 0 or a negative errno.
 */
int capture_window_copy(const struct capture_window *w, int from, int to);

/* A byte above 127 and both kinds of line end reveal text-mode transfers, as in PNG files. */
#define CAPTURE_MAGIC "\x89prof\r\n\x1a"
#define CAPTURE_MAGIC_SIZE 8
/*
 * Version 1 has no columns, version 2 no epochs, version 3 no shapes for waits in columns, version
 * 4 no wakers.
 */
#define CAPTURE_VERSION 5
#define CAPTURE_BOOT_ID_SIZE 16

struct capture_header {
	char magic[CAPTURE_MAGIC_SIZE];
	uint32_t version;
	uint32_t size; /* offset of the first block */
	uint8_t boot_id[CAPTURE_BOOT_ID_SIZE];
	/* The same moment by CLOCK_MONOTONIC and since the Unix epoch. */
	uint64_t start_ns, start_realtime_ns;
	uint16_t machine; /* e_machine */
	uint16_t reserved;
	uint32_t check; /* CRC-32 of the preceding bytes */
};

#define CAPTURE_BLOCK_MAGIC 0xf7a35e1du

/* capture_block.flags */
enum {
	CAPTURE_BLOCK_END = 1 << 0, /* the recording ended normally here */
	/* Holds contents of files (REC_FILE), outside of the stream: sequence and samples are 0. */
	CAPTURE_BLOCK_FILE = 1 << 1,
	CAPTURE_BLOCK_COLUMNS = 1 << 2, /* the records are in columns, see columns.h */
	/*
	 * Repeats the state after the records so far, for readers that start with the next epoch;
	 * others skip the block. Outside of the stream: its sequence is that of the epoch's first
	 * block, samples counts the blocks of this state down to 1, and both times are that of the
	 * first record of the epoch at the earliest.
	 */
	CAPTURE_BLOCK_STATE = 1 << 3,
	CAPTURE_BLOCK_EPOCH = 1 << 4, /* first block after a state */
};

/* Precedes packed_size bytes: the records back to back, as one zstd block. */
struct capture_block {
	uint32_t magic;
	uint32_t flags;
	uint64_t sequence; /* counts up from 0 */
	uint64_t samples; /* REC_SAMPLE records before this block, including unwritten ones */
	uint64_t first_ns, last_ns; /* earliest and latest time of the records; 0, 0: none */
	uint32_t records;
	uint32_t raw_size, packed_size; /* bytes */
	uint32_t packed_check; /* CRC-32 of the packed bytes */
	uint32_t columns_size; /* bytes of the records in columns; 0: not in columns */
	uint32_t check; /* CRC-32 of all preceding members */
};

/*
 * A block ends with the record that reaches this size, or after a time; the first blocks end
 * sooner.
 */
#define CAPTURE_BLOCK_BYTES ((uint32_t)256 << 10)
#define CAPTURE_BLOCK_NS 500000000ull
/* Larger blocks are damaged. The last record of a block may have the maximum size. */
#define CAPTURE_RAW_MAX (CAPTURE_BLOCK_BYTES + ((uint32_t)512 << 10))
#define CAPTURE_PACKED_MAX (CAPTURE_RAW_MAX + ((uint32_t)16 << 10))

/* Writes all bytes to a file. Returns 0 or a negative errno. */
int capture_write(int fd, const void *data, size_t size);
/* Sets all members that do not depend on the recording, and the check. */
void capture_header_seal(struct capture_header *header);

_Static_assert(sizeof(struct capture_header) == 56, "file format");
_Static_assert(sizeof(struct capture_block) == 64, "file format");
