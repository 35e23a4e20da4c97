/* SPDX-License-Identifier: MIT */
/*
 * Writes records into a capture file while they are recorded. Packing and writing happen in a
 * thread of their own: who adds records never waits for a disk. Frames that find no room in memory
 * are not written, and counted.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_WRITER_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/error.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/capture_format.h"

struct capture_writer;

struct capture_start {
	uint64_t start_ns, start_realtime_ns; /* one moment by both clocks */
	uint8_t boot_id[CAPTURE_BOOT_ID_SIZE];
	uint16_t machine; /* e_machine */
};

/* Parts of what is kept, if only the end is: the oldest one goes as a whole. */
#define CAPTURE_KEPT_EPOCHS 8

struct capture_writer_options {
	int fd; /* taken over */
	bool sync; /* flush to the disk once a second */
	uint64_t room; /* bytes that may wait for the disk; 0: the default, 16 MB */
	/*
	 * Keeps only the end, about so long and so large, unless 0: the file gets holes in place of
	 * older epochs. capture_writer_pin() then gives its beginning.
	 */
	uint64_t keep_ns, keep_bytes;
	/*
	 * Each epoch is a window, kept until capture_writer_end_window(); keep_bytes limits those
	 * that wait.
	 */
	bool has_windows;
	uint64_t frame_ns; /* a frame ends after this time; 0: the default, CAPTURE_FRAME_NS */
};

struct capture_written {
	uint64_t bytes; /* in the file */
	uint64_t unwritten_records, unwritten_samples; /* for lack of room, or after a failure */
	uint64_t state_bytes; /* of them, in frames of state */
	int failure; /* negative errno of the write that failed, and ended the file; 0: none */
};

/* NULL if the header cannot be written: err says why, and fd is closed. */
struct capture_writer *capture_writer_new(const struct capture_writer_options *options,
					  const struct capture_start *start, struct error *err);
/* Adds a valid record, in the order of the stream. */
void capture_writer_add(struct capture_writer *w, const struct rec *rec);
/*
 * Adds contents of a module's file, which the writing thread reads, in parts. Takes over the
 * descriptor and the parts. What cannot be read is left out.
 */
void capture_writer_add_file(struct capture_writer *w, uint32_t module_id, int fd,
			     struct capture_part *parts, size_t count);
/* True if the frame that grows is old enough to end. */
bool capture_writer_is_due(const struct capture_writer *w, uint64_t now_ns);
/* Ends a frame that is old enough; call some times a second, with CLOCK_MONOTONIC. */
void capture_writer_poll(struct capture_writer *w, uint64_t now_ns);
/*
 * True if an epoch should begin: the last one is `age_ns` old, and long enough beside its state,
 * unless `always`; or it is too large.
 */
bool capture_writer_wants_epoch(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns,
				bool always);
/*
 * Begins an epoch with the first record from then on, which must be to come. From there on stacks
 * must be sent anew.
 */
void capture_writer_begin_epoch(struct capture_writer *w, uint64_t time_ns);
/* Waits until all that was handed over is written. */
void capture_writer_drain(struct capture_writer *w);
/*
 * Writes all that was added so far, and keeps what there is until capture_writer_unpin(). Waits for
 * the packing, and for nothing else.
 */
void capture_writer_pin(struct capture_writer *w, struct capture_window *window);
void capture_writer_unpin(struct capture_writer *w);
/*
 * Gives the oldest window that is complete: the epoch after it began a while ago, so that late
 * stacks are there, or `is_end`. False: there is none, or capture_writer_end_window() was not
 * called for the one before. Such a window goes on to the end of the file, for late stacks.
 */
bool capture_writer_next_window(struct capture_writer *w, uint64_t now_ns, bool is_end,
				struct capture_window *window);
/* Frees the memory of the window that was given. */
void capture_writer_end_window(struct capture_writer *w);
/*
 * Gives up the oldest windows that nobody has asked for while all that waits is too much. Returns
 * the number of their samples.
 */
uint64_t capture_writer_drop_windows(struct capture_writer *w);
/* Reads what has been written so far. */
void capture_writer_count(struct capture_writer *w, struct capture_written *written);
/*
 * Writes all that waits. `complete`: the recording ended by itself, which the file then says. Call
 * once; only counting and freeing may follow.
 */
void capture_writer_finish(struct capture_writer *w, bool complete);
/* Ends the thread and closes the file; what was not finished stays unwritten. NULL is fine. */
void capture_writer_free(struct capture_writer *w);

#endif
