/* SPDX-License-Identifier: MIT */
/* Batches of a capture on their way into the file: a thread packs and writes them. */
#ifndef PROF_LIB_STREAM_CAPTURE_BATCH_QUEUE_H
#define PROF_LIB_STREAM_CAPTURE_BATCH_QUEUE_H

#include <stdbool.h>

#include "lib/stream/capture/capture_batch.h"
#include "lib/stream/capture/capture_writer.h"

struct batch_queue;

/* Takes over the options' descriptor. */
struct batch_queue *batch_queue_new(const struct capture_writer_options *options);
/* Leaves what was not finished unwritten. NULL is fine. */
void batch_queue_free(struct batch_queue *q);
/* Writes at once, before the first batch. 0 or a negative errno. */
int batch_queue_write(struct batch_queue *q, const void *data, size_t size);
/* Returns an empty batch, from malloc(). */
struct capture_batch *batch_queue_take(struct batch_queue *q);
/*
 * Takes over one batch or a list of them. Without room for all of it writes nothing, unless they
 * `must`, counts the records, and returns false.
 */
bool batch_queue_push(struct batch_queue *q, struct capture_batch *batches, bool must);
/* Waits until nothing waits. */
void batch_queue_drain(struct batch_queue *q);
/* As capture_writer_pin(): sets the place and start time of the window. */
void batch_queue_pin(struct batch_queue *q, struct capture_window *window);
void batch_queue_unpin(struct batch_queue *q);
/* Do what those of capture_writer.h do. */
bool batch_queue_next_window(struct batch_queue *q, uint64_t now_ns, bool is_end,
			     struct capture_window *window);
void batch_queue_end_window(struct batch_queue *q);
uint64_t batch_queue_drop_windows(struct batch_queue *q);
/* Reads what has been written so far. */
void batch_queue_count(struct batch_queue *q, struct capture_written *written);
/* Writes all that waits, and ends the thread. */
void batch_queue_finish(struct batch_queue *q);

#endif
