/* SPDX-License-Identifier: MIT */
/* The epochs in a file that keeps only the end of a recording. */
#ifndef PROF_LIB_STREAM_CAPTURE_KEPT_EPOCHS_H
#define PROF_LIB_STREAM_CAPTURE_KEPT_EPOCHS_H

#include "lib/base/vec.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/capture_writer.h"

struct kept_epoch {
	uint64_t at; /* position of its state */
	uint64_t start_ns;
	uint64_t samples; /* REC_SAMPLE records before it */
	bool has_samples; /* the number is known */
};

struct kept_epochs {
	uint64_t keep_ns, keep_bytes; /* 0: no limit */
	VEC(struct kept_epoch) rows; /* the oldest first; the recording's beginning is one */
	uint64_t latest_ns; /* time of the latest record */
	uint64_t sequence; /* of the state that was noted last */
	bool has_windows; /* only kept_epochs_end_window() and kept_epochs_drop_windows() drop */
	bool is_given; /* the first one is in use */
};

void kept_epochs_init(struct kept_epochs *k, const struct capture_writer_options *options);
void kept_epochs_release(struct kept_epochs *k);
/* Notes a frame that was written at that position. */
void kept_epochs_note(struct kept_epochs *k, const struct capture_frame *frame, uint64_t at);
/* Makes holes of epochs that are too old, or too much. `size`: bytes of the file. */
void kept_epochs_drop(struct kept_epochs *k, int fd, uint64_t size);
/* Sets where the first one is that is left, and when it begins; 0: with the recording. */
void kept_epochs_window(const struct kept_epochs *k, struct capture_window *window);
/* Gives the first one as a window, once the second one began a while ago. False: not yet. */
bool kept_epochs_next(struct kept_epochs *k, uint64_t now_ns, bool is_end,
		      struct capture_window *window);
/* Makes a hole of the window that was given. `size`: bytes of the file. */
void kept_epochs_end_window(struct kept_epochs *k, int fd, uint64_t size);
/* Makes holes of the first ones, unless given, while all is too much. Returns their samples. */
uint64_t kept_epochs_drop_windows(struct kept_epochs *k, int fd, uint64_t size);

#endif
