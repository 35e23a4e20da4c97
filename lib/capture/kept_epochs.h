/* SPDX-License-Identifier: MIT */
/* The epochs in a file that keeps only the end of a recording. */
#ifndef PROF_LIB_CAPTURE_KEPT_EPOCHS_H
#define PROF_LIB_CAPTURE_KEPT_EPOCHS_H

#include "lib/base/vec.h"
#include "lib/capture/capture_format.h"
#include "lib/capture/capture_writer.h"

struct kept_epoch {
	uint64_t at; /* position of its state */
	uint64_t start_ns;
};

struct kept_epochs {
	uint64_t keep_ns, keep_bytes; /* 0: no limit */
	VEC(struct kept_epoch) rows; /* the oldest first; the recording's beginning is one */
	uint64_t latest_ns; /* time of the latest record */
	uint64_t sequence; /* of the state that was noted last */
};

void kept_epochs_init(struct kept_epochs *k, const struct capture_writer_options *options);
void kept_epochs_release(struct kept_epochs *k);
/* Notes a frame that was written at that position. */
void kept_epochs_note(struct kept_epochs *k, const struct capture_frame *frame, uint64_t at);
/* Makes holes of epochs that are too old, or too much. `size`: bytes of the file. */
void kept_epochs_drop(struct kept_epochs *k, int fd, uint64_t size);
/* Sets where the first one is that is left, and when it begins; 0: with the recording. */
void kept_epochs_window(const struct kept_epochs *k, struct capture_window *window);

#endif
