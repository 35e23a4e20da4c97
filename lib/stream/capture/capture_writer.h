/* SPDX-License-Identifier: MIT */
/*
 * Writes records into a capture file while they are recorded. A separate thread packs and writes,
 * so adding records never waits for a disk. Blocks that do not fit into memory are dropped and
 * counted.
 */
#pragma once

#include "bpf/record.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/capture_format.h"

struct capture_writer;

struct capture_start {
	uint64_t start_ns, start_realtime_ns; /* the same moment on both clocks */
	uint8_t boot_id[CAPTURE_BOOT_ID_SIZE];
	uint16_t machine; /* e_machine */
};

/* Number of epochs in the retained end: the oldest epoch is dropped as a whole. */
#define CAPTURE_KEPT_EPOCHS 8

struct capture_writer_options {
	int fd; /* the writer takes ownership */
	bool sync; /* flush to disk once a second */
	uint64_t room; /* bytes that may wait to be written; 0: the default, 16 MB */
	/*
	 * Retain about this much of the end, in time and bytes; 0: no limit. Older epochs become
	 * holes in the file, and capture_writer_pin() returns the start of the retained part.
	 */
	uint64_t keep_ns, keep_bytes;
	/*
	 * Makes each epoch a window, kept until capture_writer_end_window(); keep_bytes limits the
	 * waiting windows.
	 */
	bool has_windows;
	uint64_t block_ns; /* maximum duration of a block; 0: the default, CAPTURE_BLOCK_NS */
};

struct capture_written {
	uint64_t bytes; /* bytes in the file */
	/* Dropped for lack of room, or after a failure. */
	uint64_t unwritten_records, unwritten_samples;
	uint64_t state_bytes; /* bytes in state blocks */
	int failure; /* negative errno of the failed write that ended the file; 0: none */
};

/* Returns NULL with err set if the header cannot be written; fd is then closed. */
struct capture_writer *capture_writer_new(const struct capture_writer_options *options,
					  const struct capture_start *start, struct error *err);
/* Adds a valid record, in the order of the stream. */
void capture_writer_add(struct capture_writer *w, const struct rec *rec);
/*
 * Adds contents of a module's file, which the writing thread reads in parts. Takes over the
 * descriptor and the parts. Skips unreadable parts.
 */
void capture_writer_add_file(struct capture_writer *w, uint32_t module_id, int fd,
			     struct capture_part *parts, size_t count);
/* True if the open block is due to be closed. */
bool capture_writer_is_due(const struct capture_writer *w, uint64_t now_ns);
/* Closes a block that is due; call a few times a second, with CLOCK_MONOTONIC. */
void capture_writer_poll(struct capture_writer *w, uint64_t now_ns);
/*
 * True if an epoch should begin: either the last epoch is too large, or it is `age_ns` old and,
 * unless `always` is set, long enough compared with its state.
 */
bool capture_writer_wants_epoch(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns,
				bool always);
/*
 * Begins an epoch with the first record at or after time_ns, which must not have been added yet.
 * From then on stacks must be resent.
 */
void capture_writer_begin_epoch(struct capture_writer *w, uint64_t time_ns);
/* Waits until everything added so far is written. */
void capture_writer_drain(struct capture_writer *w);
/*
 * Writes everything added so far, and retains the current epochs until capture_writer_unpin().
 * Waits only until records are packed.
 */
void capture_writer_pin(struct capture_writer *w, struct capture_window *window);
void capture_writer_unpin(struct capture_writer *w);
/*
 * Returns the oldest complete window: the next epoch began long enough ago for late stacks to have
 * arrived, or `is_end` is set. Returns false if there is none, or if capture_writer_end_window()
 * was not called for the previous one. The window extends to the end of the file, to include late
 * stacks.
 */
bool capture_writer_next_window(struct capture_writer *w, uint64_t now_ns, bool is_end,
				struct capture_window *window);
/* Frees the disk space of the last window returned. */
void capture_writer_end_window(struct capture_writer *w);
/*
 * Drops the oldest windows not yet requested while the waiting ones exceed keep_bytes. Returns the
 * number of samples in them.
 */
uint64_t capture_writer_drop_windows(struct capture_writer *w);
/* Returns the counts so far. */
void capture_writer_count(struct capture_writer *w, struct capture_written *written);
/*
 * Writes all waiting data. `complete`: the recording ended normally. Call once; afterwards only
 * counting and freeing are allowed.
 */
void capture_writer_finish(struct capture_writer *w, bool complete);
/* Ends the thread and closes the file; unfinished data is not written. Accepts NULL. */
void capture_writer_free(struct capture_writer *w);
/* Returns the descriptor, which remains the writer's. */
int capture_writer_fd(const struct capture_writer *w);
