/* SPDX-License-Identifier: MIT */
#include "lib/capture/capture_writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/capture/capture_batch.h"
#include "lib/capture/frame_packer.h"
#include "lib/record/record.h"
#include "lib/record/stack_record.h"

#define DEFAULT_ROOM ((uint64_t)16 << 20)
/* So many frames are shorter than the others, each twice as long as the one before. */
#define FIRST_FRAMES 5
#define SYNC_NS 1000000000ull

struct capture_writer {
	int fd;
	bool sync;
	uint64_t room;
	pthread_t thread;
	pthread_mutex_t lock; /* guards everything up to is_ending */
	pthread_cond_t changed;
	struct capture_batch *head, **tail; /* wait for the thread */
	struct capture_batch *spare; /* to be used again; at most one */
	uint64_t waiting; /* bytes of those */
	struct capture_written written;
	bool is_ending;
	bool is_dropped; /* skip what waits */
	/* Belongs to the adding thread. */
	struct capture_batch *batch; /* the one that grows, or NULL */
	uint64_t sequence, samples;
	uint64_t now_ns; /* as last told */
	bool has_thread; /* not before the first frame: many recordings end sooner */
	/* Belongs to the writing thread. */
	struct frame_packer *packer;
	uint64_t synced_ns;
};

static int write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * The header and the packed bytes go out as one, so that a killed process leaves few torn frames.
 */
static int write_frame(struct capture_writer *w, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size;
	const uint8_t *frame = frame_packer_pack(w->packer, &batch->frame, batch->data, batch->size,
						 &size);

	if (!frame)
		return -ENOMEM;
	*bytes += size;
	return write_all(w->fd, frame, size);
}

static void sync_file(struct capture_writer *w, bool now)
{
	uint64_t time = clock_monotonic_ns();

	if (!w->sync || (!now && time - w->synced_ns < SYNC_NS))
		return;
	w->synced_ns = time;
	/* Some files cannot be synced; the data went as far as it goes. */
	(void)fdatasync(w->fd);
}

static bool is_over(struct capture_writer *w)
{
	bool is_over;

	pthread_mutex_lock(&w->lock);
	is_over = w->is_dropped;
	pthread_mutex_unlock(&w->lock);
	return is_over;
}

/* Writes the records that the contents have become, if any. */
static int write_contents_frame(struct capture_writer *w, struct capture_batch *batch,
				uint64_t *bytes)
{
	int ret;

	if (!batch->size)
		return 0;
	batch->frame = (struct capture_frame){
		.flags = CAPTURE_FRAME_FILE,
		.records = batch->frame.records,
	};
	ret = write_frame(w, batch, bytes);
	batch->size = batch->frame.records = 0;
	return ret;
}

static int write_contents(struct capture_writer *w, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size = 1;
	int ret = 0;

	while (!ret && size && !is_over(w)) {
		size = capture_contents_next(batch->contents, batch->data + batch->size);
		batch->size += size;
		batch->frame.records += size > 0;
		if (batch->size >= CAPTURE_FRAME_BYTES)
			ret = write_contents_frame(w, batch, bytes);
	}
	return ret ? ret : write_contents_frame(w, batch, bytes);
}

static void discard(struct capture_writer *w, const struct capture_batch *batch, uint64_t samples)
{
	w->written.unwritten_records += batch->frame.records;
	w->written.unwritten_samples += samples;
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

/* Writes one batch, without the lock. After a failure the file has ended. */
static void write_batch(struct capture_writer *w, struct capture_batch *batch, bool has_failed)
{
	uint64_t bytes = 0;
	int ret = 0;

	if (!has_failed)
		ret = batch->contents ? write_contents(w, batch, &bytes)
				      : write_frame(w, batch, &bytes);
	if (!has_failed && !ret)
		sync_file(w, false);
	pthread_mutex_lock(&w->lock);
	if (batch->contents)
		batch->size = 0;
	if ((has_failed || ret) && !batch->contents)
		discard(w, batch, batch_samples(batch));
	else
		w->written.bytes += bytes;
	if (ret)
		w->written.failure = ret;
	w->waiting -= batch->size;
	capture_contents_free(steal(batch->contents));
	if (w->spare)
		free(batch);
	else
		w->spare = batch;
	pthread_mutex_unlock(&w->lock);
}

static void *write_batches(void *ctx)
{
	struct capture_writer *w = ctx;

	w->packer = frame_packer_new();
	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct capture_batch *batch = w->head;
		bool has_failed = w->written.failure || w->is_dropped;

		if (!batch && w->is_ending)
			break;
		if (!batch) {
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		w->head = batch->next;
		if (!w->head)
			w->tail = &w->head;
		pthread_mutex_unlock(&w->lock);
		write_batch(w, batch, has_failed);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	if (!w->is_dropped)
		sync_file(w, true);
	return NULL;
}

static int write_header(struct capture_writer *w, const struct capture_start *start)
{
	struct capture_header header = {
		.version = CAPTURE_VERSION,
		.size = sizeof(header),
		.start_ns = start->start_ns,
		.start_realtime_ns = start->start_realtime_ns,
		.machine = start->machine,
	};

	memcpy(header.magic, CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE);
	memcpy(header.boot_id, start->boot_id, CAPTURE_BOOT_ID_SIZE);
	header.check = crc32_add(0, &header, offsetof(struct capture_header, check));
	w->written.bytes = sizeof(header);
	return write_all(w->fd, &header, sizeof(header));
}

/* Signals belong to the main thread. Without a thread, nothing is written. */
static void start_thread(struct capture_writer *w)
{
	sigset_t all, before;
	int ret;

	if (w->has_thread || w->written.failure)
		return;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&w->thread, NULL, write_batches, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->has_thread = !ret;
	if (ret)
		w->written.failure = -ret;
}

static void release(struct capture_writer *w)
{
	frame_packer_free(w->packer);
	free(w->batch);
	free(w->spare);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	free(w);
}

struct capture_writer *capture_writer_new(const struct capture_writer_options *options,
					  const struct capture_start *start, struct error *err)
{
	struct capture_writer *w = xcalloc(1, sizeof(*w));
	int ret;

	w->fd = options->fd;
	w->sync = options->sync;
	w->room = options->room ? options->room : DEFAULT_ROOM;
	w->tail = &w->head;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	ret = write_header(w, start);
	if (!ret)
		return w;
	error_set(err, ret, "write a capture");
	release(w);
	return NULL;
}

static struct capture_batch *new_batch(struct capture_writer *w)
{
	struct capture_batch *batch;

	pthread_mutex_lock(&w->lock);
	batch = steal(w->spare);
	pthread_mutex_unlock(&w->lock);
	if (!batch)
		batch = xmalloc(sizeof(*batch));
	batch->next = NULL;
	batch->contents = NULL;
	batch->size = 0;
	batch->begin_ns = w->now_ns;
	batch->frame = (struct capture_frame){.samples = w->samples, .first_ns = UINT64_MAX};
	return batch;
}

/* Adds it to those that wait for the thread; call with the lock. */
static void push_batch(struct capture_writer *w, struct capture_batch *batch)
{
	*w->tail = batch;
	w->tail = &batch->next;
	w->waiting += batch->size;
	pthread_cond_signal(&w->changed);
}

void capture_writer_add_file(struct capture_writer *w, uint32_t module_id, int fd,
			     struct capture_part *parts, size_t count)
{
	const struct capture_contents contents = {
		.module_id = module_id,
		.fd = fd,
		.parts = parts,
		.count = count,
	};
	struct capture_batch *batch = new_batch(w);

	batch->contents = xmemdup(&contents, sizeof(contents));
	start_thread(w);
	pthread_mutex_lock(&w->lock);
	if (w->has_thread)
		push_batch(w, steal(batch));
	pthread_mutex_unlock(&w->lock);
	if (!batch)
		return;
	capture_contents_free(batch->contents);
	free(batch);
}

/* Hands the batch to the thread, if there is room. */
static void end_batch(struct capture_writer *w, uint32_t flags)
{
	struct capture_batch *batch = steal(w->batch);
	bool has_room;

	if (!batch)
		return;
	batch->frame.sequence = w->sequence++;
	batch->frame.flags = flags;
	if (!batch->frame.records)
		batch->frame.first_ns = 0;
	start_thread(w);
	pthread_mutex_lock(&w->lock);
	has_room = w->has_thread && (flags || w->waiting + batch->size <= w->room);
	if (has_room)
		push_batch(w, batch);
	else
		discard(w, batch, w->samples - batch->frame.samples);
	pthread_mutex_unlock(&w->lock);
	if (!has_room)
		free(batch);
}

void capture_writer_add(struct capture_writer *w, const struct rec *rec)
{
	size_t size = record_size(rec);
	struct capture_frame *frame;

	if (!w->batch)
		w->batch = new_batch(w);
	frame = &w->batch->frame;
	memcpy(w->batch->data + w->batch->size, rec, size);
	if (rec->kind == REC_STACK)
		stack_record_clear_padding((struct rec_stack *)(w->batch->data + w->batch->size));
	w->batch->size += size;
	w->samples += rec->kind == REC_SAMPLE;
	frame->records++;
	if (rec->time < frame->first_ns)
		frame->first_ns = rec->time;
	if (rec->time > frame->last_ns)
		frame->last_ns = rec->time;
	if (w->batch->size >= CAPTURE_FRAME_BYTES)
		end_batch(w, 0);
}

/* The first frames are shorter: whoever is killed soon leaves something, too. */
static uint64_t frame_ns(const struct capture_writer *w)
{
	return w->sequence < FIRST_FRAMES ? CAPTURE_FRAME_NS >> (FIRST_FRAMES - w->sequence)
					  : CAPTURE_FRAME_NS;
}

bool capture_writer_is_due(const struct capture_writer *w, uint64_t now_ns)
{
	return w->batch && now_ns - w->batch->begin_ns >= frame_ns(w);
}

void capture_writer_poll(struct capture_writer *w, uint64_t now_ns)
{
	w->now_ns = now_ns;
	if (capture_writer_is_due(w, now_ns))
		end_batch(w, 0);
}

void capture_writer_count(struct capture_writer *w, struct capture_written *written)
{
	pthread_mutex_lock(&w->lock);
	*written = w->written;
	pthread_mutex_unlock(&w->lock);
}

static void join(struct capture_writer *w)
{
	if (!w->has_thread)
		return;
	w->has_thread = false;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

void capture_writer_finish(struct capture_writer *w, bool complete)
{
	if (!w->batch)
		w->batch = new_batch(w);
	end_batch(w, complete ? CAPTURE_FRAME_END : 0);
	join(w);
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_dropped = true;
	pthread_mutex_unlock(&w->lock);
	join(w);
	release(w);
}
