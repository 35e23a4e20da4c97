/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/batch_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "lib/stream/capture/frame_packer.h"
#include "lib/stream/capture/kept_epochs.h"
#include "lib/stream/record/record.h"

#define DEFAULT_ROOM ((uint64_t)16 << 20)
#define SYNC_NS 1000000000ull

struct batch_queue {
	int fd;
	bool sync;
	uint64_t room;
	pthread_t thread;
	pthread_mutex_t lock; /* guards everything up to is_ending */
	pthread_cond_t changed, idle;
	struct capture_batch *head, **tail; /* wait for the thread */
	struct capture_batch *spare; /* to be used again; at most one */
	uint64_t waiting; /* bytes of those */
	struct capture_written written;
	bool is_ending;
	bool is_dropped; /* skip what waits */
	bool is_busy; /* a batch is being written */
	bool is_pinned; /* nothing is dropped */
	struct kept_epochs kept;
	/* Belongs to the adding thread. */
	bool has_thread;
	/* Belongs to the writing thread. */
	struct frame_packer *packer;
	uint64_t synced_ns;
};

struct batch_queue *batch_queue_new(const struct capture_writer_options *options)
{
	struct batch_queue *q = xcalloc(1, sizeof(*q));

	q->fd = options->fd;
	q->sync = options->sync;
	q->room = options->room ? options->room : DEFAULT_ROOM;
	q->tail = &q->head;
	kept_epochs_init(&q->kept, options);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	pthread_cond_init(&q->idle, NULL);
	return q;
}

/*
 * The header and the packed bytes go out as one, so that a killed process leaves few torn frames.
 */
static int write_frame(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size;
	const uint8_t *frame = frame_packer_pack(q->packer, &batch->frame, batch->data, batch->size,
						 &size);

	if (!frame)
		return -ENOMEM;
	*bytes += size;
	return capture_write(q->fd, frame, size);
}

static void sync_file(struct batch_queue *q, bool now)
{
	uint64_t time = clock_monotonic_ns();

	if (!q->sync || (!now && time - q->synced_ns < SYNC_NS))
		return;
	q->synced_ns = time;
	/* Some files cannot be synced; the data went as far as it goes. */
	(void)fdatasync(q->fd);
}

static bool is_over(struct batch_queue *q)
{
	bool is_over;

	pthread_mutex_lock(&q->lock);
	is_over = q->is_dropped;
	pthread_mutex_unlock(&q->lock);
	return is_over;
}

/* Writes the records that the contents have become, if any. */
static int write_contents_frame(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	int ret;

	if (!batch->size)
		return 0;
	batch->frame = (struct capture_frame){
		.flags = CAPTURE_FRAME_FILE,
		.records = batch->frame.records,
	};
	ret = write_frame(q, batch, bytes);
	batch->size = batch->frame.records = 0;
	return ret;
}

static int write_contents(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size = 1;
	int ret = 0;

	while (!ret && size && !is_over(q)) {
		size = capture_contents_next(batch->contents, batch->data + batch->size);
		batch->size += size;
		batch->frame.records += size > 0;
		if (batch->size >= CAPTURE_FRAME_BYTES)
			ret = write_contents_frame(q, batch, bytes);
	}
	return ret ? ret : write_contents_frame(q, batch, bytes);
}

/* State and contents are no part of the stream. */
static bool is_beside(const struct capture_batch *batch)
{
	return batch->contents || batch->frame.flags & CAPTURE_FRAME_STATE;
}

static uint64_t batch_samples(const struct capture_batch *batch)
{
	uint64_t count = 0;

	for (size_t at = 0; at < batch->size;) {
		const struct rec *rec = (const struct rec *)(batch->data + at);

		count += rec->kind == REC_SAMPLE;
		at += record_size(rec);
	}
	return count;
}

static void discard(struct batch_queue *q, const struct capture_batch *batch)
{
	if (is_beside(batch))
		return;
	q->written.unwritten_records += batch->frame.records;
	q->written.unwritten_samples += batch_samples(batch);
}

/* Writes one batch, without the lock. After a failure the file has ended. */
static void write_batch(struct batch_queue *q, struct capture_batch *batch, bool has_failed)
{
	uint64_t bytes = 0;
	int ret = 0;

	if (!has_failed)
		ret = batch->contents ? write_contents(q, batch, &bytes)
				      : write_frame(q, batch, &bytes);
	if (!has_failed && !ret)
		sync_file(q, false);
	pthread_mutex_lock(&q->lock);
	kept_epochs_note(&q->kept, &batch->frame, q->written.bytes);
	if (!q->is_pinned)
		kept_epochs_drop(&q->kept, q->fd, q->written.bytes + bytes);
	if (batch->contents)
		batch->size = 0;
	if (has_failed || ret)
		discard(q, batch);
	else
		q->written.bytes += bytes;
	if (batch->frame.flags & CAPTURE_FRAME_STATE)
		q->written.state_bytes += bytes;
	if (ret)
		q->written.failure = ret;
	q->waiting -= batch->size;
	capture_contents_free(steal(batch->contents));
	if (q->spare)
		free(batch);
	else
		q->spare = batch;
	pthread_mutex_unlock(&q->lock);
}

static void *write_batches(void *ctx)
{
	struct batch_queue *q = ctx;

	q->packer = frame_packer_new();
	pthread_mutex_lock(&q->lock);
	for (;;) {
		struct capture_batch *batch = q->head;
		bool has_failed = q->written.failure || q->is_dropped;

		q->is_busy = batch;
		if (!batch)
			pthread_cond_broadcast(&q->idle);
		if (!batch && q->is_ending)
			break;
		if (!batch) {
			pthread_cond_wait(&q->changed, &q->lock);
			continue;
		}
		q->head = batch->next;
		if (!q->head)
			q->tail = &q->head;
		pthread_mutex_unlock(&q->lock);
		write_batch(q, batch, has_failed);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	if (!q->is_dropped)
		sync_file(q, true);
	return NULL;
}

/*
 * Not before the first batch: many recordings end sooner. Signals belong to the main thread.
 * Without a thread, nothing is written.
 */
static void start_thread(struct batch_queue *q)
{
	int ret;

	if (q->has_thread || q->written.failure)
		return;

	ret = thread_start(&q->thread, "prof-writer", write_batches, q);
	q->has_thread = !ret;
	if (ret)
		q->written.failure = -ret;
}

static void join(struct batch_queue *q)
{
	if (!q->has_thread)
		return;
	q->has_thread = false;
	pthread_mutex_lock(&q->lock);
	q->is_ending = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
}

void batch_queue_finish(struct batch_queue *q)
{
	join(q);
}

void batch_queue_free(struct batch_queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->is_dropped = q->is_ending = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	/* It may read or write a file that does not answer. */
	if (q->has_thread && !thread_join_soon(q->thread))
		return;
	frame_packer_free(q->packer);
	free(q->spare);
	pthread_cond_destroy(&q->changed);
	pthread_cond_destroy(&q->idle);
	kept_epochs_release(&q->kept);
	pthread_mutex_destroy(&q->lock);
	close(q->fd);
	free(q);
}

int batch_queue_write(struct batch_queue *q, const void *data, size_t size)
{
	q->written.bytes += size;
	return capture_write(q->fd, data, size);
}

struct capture_batch *batch_queue_take(struct batch_queue *q)
{
	struct capture_batch *batch;

	pthread_mutex_lock(&q->lock);
	batch = steal(q->spare);
	pthread_mutex_unlock(&q->lock);
	if (!batch)
		batch = xmalloc(sizeof(*batch));
	batch->next = NULL;
	batch->contents = NULL;
	batch->size = 0;
	batch->frame = (struct capture_frame){0};
	return batch;
}

bool batch_queue_push(struct batch_queue *q, struct capture_batch *batches, bool must)
{
	uint64_t size = 0;
	bool has_room;

	for (const struct capture_batch *batch = batches; batch; batch = batch->next)
		size += batch->size;
	start_thread(q);
	pthread_mutex_lock(&q->lock);
	has_room = q->has_thread && (must || q->waiting + size <= q->room);
	while (batches) {
		struct capture_batch *batch = batches;

		batches = steal(batch->next);
		if (has_room) {
			*q->tail = batch;
			q->tail = &batch->next;
			q->waiting += batch->size;
			pthread_cond_signal(&q->changed);
			continue;
		}
		discard(q, batch);
		capture_contents_free(batch->contents);
		free(batch);
	}
	pthread_mutex_unlock(&q->lock);
	return has_room;
}

/* With the lock. */
static void await_idle(struct batch_queue *q)
{
	while (q->has_thread && (q->head || q->is_busy))
		pthread_cond_wait(&q->idle, &q->lock);
}

void batch_queue_drain(struct batch_queue *q)
{
	pthread_mutex_lock(&q->lock);
	await_idle(q);
	pthread_mutex_unlock(&q->lock);
}

void batch_queue_pin(struct batch_queue *q, struct capture_window *window)
{
	pthread_mutex_lock(&q->lock);
	await_idle(q);
	q->is_pinned = true;
	kept_epochs_window(&q->kept, window);
	window->end = q->written.bytes;
	pthread_mutex_unlock(&q->lock);
}

void batch_queue_unpin(struct batch_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->is_pinned = false;
	pthread_mutex_unlock(&q->lock);
}

bool batch_queue_next_window(struct batch_queue *q, uint64_t now_ns, bool is_end,
			     struct capture_window *window)
{
	bool is_there;

	pthread_mutex_lock(&q->lock);
	is_there = kept_epochs_next(&q->kept, now_ns, is_end, window);
	window->end = q->written.bytes;
	pthread_mutex_unlock(&q->lock);
	return is_there;
}

void batch_queue_end_window(struct batch_queue *q)
{
	pthread_mutex_lock(&q->lock);
	kept_epochs_end_window(&q->kept, q->fd, q->written.bytes);
	pthread_mutex_unlock(&q->lock);
}

uint64_t batch_queue_drop_windows(struct batch_queue *q)
{
	uint64_t samples;

	pthread_mutex_lock(&q->lock);
	samples = kept_epochs_drop_windows(&q->kept, q->fd, q->written.bytes);
	pthread_mutex_unlock(&q->lock);
	return samples;
}

void batch_queue_count(struct batch_queue *q, struct capture_written *written)
{
	pthread_mutex_lock(&q->lock);
	*written = q->written;
	pthread_mutex_unlock(&q->lock);
}
