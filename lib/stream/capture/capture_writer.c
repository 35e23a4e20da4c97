/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_writer.h"

#include <pthread.h>
#include <zstd.h>

#include "lib/base/crc32.h"
#include "lib/base/workers.h"
#include "lib/stream/capture/columns.h"
#include "lib/stream/capture/state.h"
#include "lib/stream/record/records.h"

/* The unpacked records of a block; or contents of a file, which become records when written. */
struct capture_batch {
	struct capture_batch *next;
	struct capture_contents *contents; /* NULL: none */
	struct capture_block block;
	uint64_t begin_ns; /* time at which the first record was added */
	size_t size;
	uint8_t data[CAPTURE_RAW_MAX];
};

/* The epochs in a file that keeps only the end of a recording. */

struct kept_epoch {
	uint64_t at; /* position of the state */
	uint64_t start_ns;
	uint64_t samples; /* REC_SAMPLE records before the epoch */
	bool has_samples; /* `samples` is known */
};

struct kept_epochs {
	uint64_t keep_ns, keep_bytes; /* 0: no limit */
	VEC(struct kept_epoch)
	rows; /* oldest first; the beginning of the recording is one of the rows */
	uint64_t latest_ns; /* time of the latest record */
	uint64_t sequence; /* sequence number of the last state noted */
	/* only kept_epochs_end_window() and kept_epochs_drop_windows() drop epochs */
	bool has_windows;
	bool is_given; /* the first epoch was returned as a window and is in use */
};

/* Late stacks and records of a window are written within this time after its end. */
#define LATE_NS 2000000000ull

static void kept_epochs_init(struct kept_epochs *k, const struct capture_writer_options *options)
{
	*k = (struct kept_epochs){
		.keep_ns = options->keep_ns,
		.keep_bytes = options->keep_bytes,
		.sequence = UINT64_MAX,
		.has_windows = options->has_windows,
	};
	vec_push(&k->rows,
		 (struct kept_epoch){.at = sizeof(struct capture_header), .has_samples = true});
}

/* Notes a block written at that position. */
static void kept_epochs_note(struct kept_epochs *k, const struct capture_block *block, uint64_t at)
{
	k->latest_ns = MAX(k->latest_ns, block->last_ns);
	if (!(block->flags & CAPTURE_BLOCK_STATE) && block->records && k->rows.count &&
	    !vec_last(&k->rows).has_samples) {
		vec_last(&k->rows).samples = block->samples;
		vec_last(&k->rows).has_samples = true;
	}
	if (!(block->flags & CAPTURE_BLOCK_STATE) || block->sequence == k->sequence)
		return;
	k->sequence = block->sequence;
	vec_push(&k->rows, (struct kept_epoch){.at = at, .start_ns = block->first_ns});
}

/* True if the other epochs suffice without the oldest, or exceed the limit with it. */
static bool is_spent(const struct kept_epochs *k, uint64_t size)
{
	if (k->rows.count < 2)
		return false;
	return (k->keep_bytes && size - k->rows.items[0].at > k->keep_bytes) ||
	       (k->keep_ns && k->latest_ns - k->rows.items[1].start_ns >= k->keep_ns);
}

/*
 * Punches a hole for the bytes in between. Everything before them except the header is already
 * freed, so whole pages are.
 */
static void make_hole(int fd, uint64_t at, uint64_t end)
{
	uint64_t page = at - at % (uint64_t)sysconf(_SC_PAGESIZE);

	if (page < sizeof(struct capture_header))
		page = sizeof(struct capture_header);
	/* A file system that does not support holes keeps the bytes. */
	(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page,
			 (off_t)(end - page));
}

static void drop_first(struct kept_epochs *k, int fd, uint64_t size)
{
	make_hole(fd, k->rows.items[0].at, k->rows.count > 1 ? k->rows.items[1].at : size);
	k->rows.count--;
	memmove(&k->rows.items[0], &k->rows.items[1], k->rows.count * sizeof(k->rows.items[0]));
}

/* Punches holes for epochs beyond the limits of time and size. `size`: bytes of the file. */
static void kept_epochs_drop(struct kept_epochs *k, int fd, uint64_t size)
{
	if ((!k->keep_ns && !k->keep_bytes) || k->has_windows)
		return;
	while (is_spent(k, size))
		drop_first(k, fd, size);
}

/* Sets position and start time of the first remaining epoch; time 0: start of the recording. */
static void kept_epochs_window(const struct kept_epochs *k, struct capture_window *window)
{
	window->at = k->rows.items[0].at;
	window->start_ns = k->rows.items[0].start_ns;
}

/*
 * Returns the first epoch as a window, once the second began long enough ago. Returns false if it
 * is too early.
 */
static bool kept_epochs_next(struct kept_epochs *k, uint64_t now_ns, bool is_end,
			     struct capture_window *window)
{
	bool has_next = k->rows.count > 1;

	if (k->is_given || !k->rows.count)
		return false;
	if (!is_end && (!has_next || now_ns < k->rows.items[1].start_ns + LATE_NS))
		return false;
	*window = (struct capture_window){0};
	if (has_next) {
		window->end_ns = k->rows.items[1].start_ns;
		window->next_at = k->rows.items[1].at;
		window->held = k->rows.items[1].samples - k->rows.items[0].samples;
	}
	kept_epochs_window(k, window);
	k->is_given = true;
	return true;
}

/* Punches a hole for the returned window. `size`: bytes of the file. */
static void kept_epochs_end_window(struct kept_epochs *k, int fd, uint64_t size)
{
	if (k->is_given)
		drop_first(k, fd, size);
	k->is_given = false;
}

/*
 * Punches holes for the oldest epochs not in use while all exceed the limit. Returns their number
 * of samples.
 */
static uint64_t kept_epochs_drop_windows(struct kept_epochs *k, int fd, uint64_t size)
{
	uint64_t samples = 0;

	while (!k->is_given && k->rows.count > 1 && k->rows.items[1].has_samples &&
	       size - k->rows.items[0].at > k->keep_bytes) {
		samples += k->rows.items[1].samples - k->rows.items[0].samples;
		drop_first(k, fd, size);
	}
	return samples;
}

/* Fast enough for any recording; higher levels save 3 to 4 %. */
#define PACK_LEVEL 1

/* Packs records into a block of a capture. */
struct block_packer {
	ZSTD_CCtx *context;
	struct columns *columns;
	uint8_t *packed; /* header, then payload */
};

/* The packer keeps only buffers between blocks. */
static struct block_packer *block_packer_new(void)
{
	struct block_packer *p = xcalloc(1, sizeof(*p));

	p->packed = xmalloc(sizeof(struct capture_block) + CAPTURE_PACKED_MAX);
	p->columns = columns_new();
	p->context = ZSTD_createCCtx();
	if (!p->context)
		alloc_failed();
	return p;
}

/* Accepts NULL. */
static void block_packer_free(struct block_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->context);
	columns_free(p->columns);
	free(p->packed);
	free(p);
}

/*
 * Packs whole records and completes the block's header: its sizes, checks and
 * CAPTURE_BLOCK_COLUMNS. Returns header and packed bytes, valid until the next call; NULL if out of
 * memory.
 */
static const uint8_t *block_packer_pack(struct block_packer *p, struct capture_block *block,
					uint8_t *records, size_t size, size_t *bytes)
{
	uint8_t *payload = p->packed + sizeof(*block);
	size_t columns_size, packed_size;
	const uint8_t *columns = block->flags & CAPTURE_BLOCK_FILE
					 ? NULL
					 : columns_encode(p->columns, records, size, size,
							  &columns_size);

	if (columns) {
		block->flags |= CAPTURE_BLOCK_COLUMNS;
		block->columns_size = (uint32_t)columns_size;
	}
	packed_size = ZSTD_compressCCtx(p->context, payload, CAPTURE_PACKED_MAX,
					columns ? columns : records, columns ? columns_size : size,
					PACK_LEVEL);
	if (ZSTD_isError(packed_size))
		return NULL;
	block->magic = CAPTURE_BLOCK_MAGIC;
	block->raw_size = (uint32_t)size;
	block->packed_size = (uint32_t)packed_size;
	block->packed_check = crc32_add(0, payload, packed_size);
	block->check = crc32_add(0, block, offsetof(struct capture_block, check));
	memcpy(p->packed, block, sizeof(*block));
	*bytes = sizeof(*block) + packed_size;
	return p->packed;
}

#define DEFAULT_ROOM ((uint64_t)16 << 20)
#define SYNC_NS 1000000000ull

/* Batches of records that a thread packs and writes to the file. */
struct batch_queue {
	int fd;
	bool sync;
	uint64_t room;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all members up to is_ending */
	pthread_cond_t changed, idle;
	struct capture_batch *head, **tail; /* batches waiting for the thread */
	struct capture_batch *spare; /* a batch to reuse, or NULL */
	uint64_t waiting; /* bytes in waiting batches */
	struct capture_written written;
	bool is_ending;
	bool is_dropped; /* skip all waiting batches */
	bool is_busy; /* a batch is being written */
	bool is_pinned; /* nothing may be dropped */
	struct kept_epochs kept;
	/* Belongs to the adding thread. */
	bool has_thread;
	/* Belongs to the writing thread. */
	struct block_packer *packer;
	uint64_t synced_ns;
};

/* Takes ownership of the options' descriptor. */
static struct batch_queue *batch_queue_new(const struct capture_writer_options *options)
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

/* Writes header and packed bytes at once, so that a killed process leaves few torn blocks. */
static int write_block(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size;
	const uint8_t *block = block_packer_pack(q->packer, &batch->block, batch->data, batch->size,
						 &size);

	if (!block)
		return -ENOMEM;
	*bytes += size;
	return capture_write(q->fd, block, size);
}

static void sync_file(struct batch_queue *q, bool now)
{
	uint64_t time = clock_monotonic_ns();

	if (!q->sync || (!now && time - q->synced_ns < SYNC_NS))
		return;
	q->synced_ns = time;
	/* Some files cannot be synced; nothing more can be done. */
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

/* Writes the records made from file contents, if any. */
static int write_contents_block(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	int ret;

	if (!batch->size)
		return 0;
	batch->block = (struct capture_block){
		.flags = CAPTURE_BLOCK_FILE,
		.records = batch->block.records,
	};
	ret = write_block(q, batch, bytes);
	batch->size = batch->block.records = 0;
	return ret;
}

static int write_contents(struct batch_queue *q, struct capture_batch *batch, uint64_t *bytes)
{
	size_t size = 1;
	int ret = 0;

	while (!ret && size && !is_over(q)) {
		size = capture_contents_next(batch->contents, batch->data + batch->size);
		batch->size += size;
		batch->block.records += size > 0;
		if (batch->size >= CAPTURE_BLOCK_BYTES)
			ret = write_contents_block(q, batch, bytes);
	}
	return ret ? ret : write_contents_block(q, batch, bytes);
}

/* State blocks and contents are not part of the stream. */
static bool is_beside(const struct capture_batch *batch)
{
	return batch->contents || batch->block.flags & CAPTURE_BLOCK_STATE;
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
	q->written.unwritten_records += batch->block.records;
	q->written.unwritten_samples += batch_samples(batch);
}

/* Writes one batch, without holding the lock. A failure ends the file. */
static void write_batch(struct batch_queue *q, struct capture_batch *batch, bool has_failed)
{
	uint64_t bytes = 0;
	int ret = 0;

	if (!has_failed)
		ret = batch->contents ? write_contents(q, batch, &bytes)
				      : write_block(q, batch, &bytes);
	if (!has_failed && !ret)
		sync_file(q, false);
	pthread_mutex_lock(&q->lock);
	kept_epochs_note(&q->kept, &batch->block, q->written.bytes);
	if (!q->is_pinned)
		kept_epochs_drop(&q->kept, q->fd, q->written.bytes + bytes);
	if (batch->contents)
		batch->size = 0;
	if (has_failed || ret)
		discard(q, batch);
	else
		q->written.bytes += bytes;
	if (batch->block.flags & CAPTURE_BLOCK_STATE)
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

	q->packer = block_packer_new();
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
 * Started with the first batch: many recordings end sooner. Signals are left to the main thread.
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

/* Writes all waiting batches, and ends the thread. */
static void batch_queue_finish(struct batch_queue *q)
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

/* Leaves unfinished data unwritten. Accepts NULL. */
static void batch_queue_free(struct batch_queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->is_dropped = q->is_ending = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	/* The thread may be blocked by a file system that does not respond. */
	if (q->has_thread && !thread_join_soon(q->thread))
		return;
	block_packer_free(q->packer);
	free(q->spare);
	pthread_cond_destroy(&q->changed);
	pthread_cond_destroy(&q->idle);
	vec_release(&q->kept.rows);
	pthread_mutex_destroy(&q->lock);
	close(q->fd);
	free(q);
}

/* Writes immediately, before the first batch. Returns 0 or a negative errno. */
static int batch_queue_write(struct batch_queue *q, const void *data, size_t size)
{
	q->written.bytes += size;
	return capture_write(q->fd, data, size);
}

/* Returns an empty batch, from malloc(). */
static struct capture_batch *batch_queue_take(struct batch_queue *q)
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
	batch->block = (struct capture_block){0};
	return batch;
}

/*
 * Takes ownership of one batch or a list of batches. Without a thread, or without room for all of
 * them unless `must` is set, writes none, counts the records as unwritten and returns false.
 */
static bool batch_queue_push(struct batch_queue *q, struct capture_batch *batches, bool must)
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

/* Call with the lock held. */
static void await_idle(struct batch_queue *q)
{
	while (q->has_thread && (q->head || q->is_busy))
		pthread_cond_wait(&q->idle, &q->lock);
}

/* Number of shorter blocks at the start, each twice as long as the previous one. */
#define FIRST_FRAMES 5
/* Limits of an epoch: absolute size, and multiple of the size of the state before it. */
#define EPOCH_BYTES ((uint64_t)64 << 20)
#define STATE_RATIO 20
/*
 * Bytes of stacks in memory at which a new epoch begins, which keeps only those of sleeping tasks.
 */
#define STACKS_BYTES ((uint64_t)16 << 20)
/* After this time, no record of the epoch before last can still arrive. */
#define EPOCH_MIN_NS 100000000ull

struct capture_writer {
	struct batch_queue *queue;
	struct capture_batch *batch; /* the open batch, or NULL */
	uint64_t sequence, samples;
	uint64_t now_ns; /* time at the last call */
	struct capture_state *state;
	uint64_t block_ns; /* length of a block */
	uint64_t epoch_bytes; /* limit for an epoch */
	uint64_t epoch_ns; /* start of the latest epoch, possibly in the future */
	uint64_t epoch_at; /* bytes written at epoch_ns */
	uint64_t state_at; /* value of written.state_bytes before the epoch */
	bool awaits_epoch; /* no record of the epoch has arrived yet */
	uint32_t next_flags; /* flags for the next block */
};

static int write_header(struct capture_writer *w, const struct capture_start *start)
{
	struct capture_header header = {
		.start_ns = start->start_ns,
		.start_realtime_ns = start->start_realtime_ns,
		.machine = start->machine,
	};

	memcpy(header.boot_id, start->boot_id, CAPTURE_BOOT_ID_SIZE);
	capture_header_seal(&header);
	return batch_queue_write(w->queue, &header, sizeof(header));
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	batch_queue_free(w->queue);
	capture_state_free(w->state);
	free(w->batch);
	free(w);
}

int capture_writer_fd(const struct capture_writer *w)
{
	return w->queue->fd;
}

struct capture_writer *capture_writer_new(const struct capture_writer_options *options,
					  const struct capture_start *start, struct error *err)
{
	struct capture_writer *w = xcalloc(1, sizeof(*w));
	int ret;

	w->queue = batch_queue_new(options);
	w->state = capture_state_new();
	w->epoch_ns = start->start_ns;
	w->block_ns = options->block_ns ? options->block_ns : CAPTURE_BLOCK_NS;
	w->epoch_bytes = options->keep_bytes ? options->keep_bytes / CAPTURE_KEPT_EPOCHS
					     : EPOCH_BYTES;
	ret = write_header(w, start);
	if (!ret)
		return w;
	error_set(err, ret, "cannot write a capture");
	capture_writer_free(w);
	return NULL;
}

static struct capture_batch *new_batch(struct capture_writer *w)
{
	struct capture_batch *batch = batch_queue_take(w->queue);

	batch->begin_ns = w->now_ns;
	batch->block.samples = w->samples;
	batch->block.first_ns = UINT64_MAX;
	return batch;
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
	struct capture_batch *batch = batch_queue_take(w->queue);

	batch->contents = xmemdup(&contents, sizeof(contents));
	batch_queue_push(w->queue, batch, true);
}

/* Hands the batch to the thread if there is room; otherwise drops it. */
static void end_batch(struct capture_writer *w, uint32_t flags)
{
	struct capture_batch *batch = steal(w->batch);

	if (!batch)
		return;
	batch->block.sequence = w->sequence++;
	batch->block.flags = flags | w->next_flags;
	w->next_flags = 0;
	if (!batch->block.records)
		batch->block.first_ns = 0;
	batch_queue_push(w->queue, batch, flags);
}

/* Collects the blocks of a state until they are handed to the thread. */
struct state_blocks {
	struct capture_writer *writer;
	struct capture_batch *head, **tail, *last;
	uint64_t count;
};

static void add_state(void *ctx, const struct rec *rec)
{
	struct state_blocks *f = ctx;
	size_t size = record_size(rec);

	if (!f->last || f->last->size >= CAPTURE_BLOCK_BYTES) {
		f->last = new_batch(f->writer);
		*f->tail = f->last;
		f->tail = &f->last->next;
		f->count++;
	}
	memcpy(f->last->data + f->last->size, rec, size);
	f->last->size += size;
	f->last->block.records++;
}

static void label_state(const struct state_blocks *f)
{
	const struct capture_writer *w = f->writer;
	uint64_t left = f->count;

	for (struct capture_batch *batch = f->head; batch; batch = batch->next) {
		struct capture_block *block = &batch->block;

		block->flags = CAPTURE_BLOCK_STATE;
		block->sequence = w->sequence;
		block->samples = left--;
		block->first_ns = block->last_ns = w->epoch_ns;
	}
}

void capture_writer_count(struct capture_writer *w, struct capture_written *written)
{
	pthread_mutex_lock(&w->queue->lock);
	*written = w->queue->written;
	pthread_mutex_unlock(&w->queue->lock);
}

/* Writes the state before the block that begins an epoch. Without room, no epoch begins. */
static void write_state(struct capture_writer *w)
{
	struct state_blocks f = {.writer = w, .tail = &f.head};
	struct capture_written written;

	w->awaits_epoch = false;
	end_batch(w, 0);
	capture_state_give(w->state, add_state, &f);
	label_state(&f);
	capture_writer_count(w, &written);
	w->epoch_at = written.bytes;
	w->state_at = written.state_bytes;
	if (f.head && batch_queue_push(w->queue, f.head, false))
		w->next_flags = CAPTURE_BLOCK_EPOCH;
}

bool capture_writer_wants_epoch(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns,
				bool always)
{
	struct capture_written written;
	uint64_t bytes, state_bytes;

	if (w->awaits_epoch || now_ns < w->epoch_ns + EPOCH_MIN_NS)
		return false;
	capture_writer_count(w, &written);
	bytes = written.bytes - w->epoch_at;
	state_bytes = written.state_bytes - w->state_at;
	/* An epoch must be larger than its state, or the next one would begin at once. */
	if (bytes >= w->epoch_bytes + state_bytes ||
	    capture_state_stack_bytes(w->state) >= STACKS_BYTES)
		return true;
	return now_ns - w->epoch_ns >= age_ns && (always || bytes >= STATE_RATIO * state_bytes);
}

void capture_writer_begin_epoch(struct capture_writer *w, uint64_t time_ns)
{
	w->epoch_ns = time_ns;
	w->awaits_epoch = true;
}

void capture_writer_add(struct capture_writer *w, const struct rec *rec)
{
	size_t size = record_size(rec);
	struct capture_block *block;

	/* Facts are skipped: they arrive at any time, as they become known. */
	if (w->awaits_epoch && rec->kind != REC_META && rec->time >= w->epoch_ns)
		write_state(w);
	capture_state_take(w->state, rec);
	if (!w->batch)
		w->batch = new_batch(w);
	block = &w->batch->block;
	memcpy(w->batch->data + w->batch->size, rec, size);
	if (rec->kind == REC_STACK)
		stack_record_clear_padding((struct rec_stack *)(w->batch->data + w->batch->size));
	w->batch->size += size;
	w->samples += rec->kind == REC_SAMPLE;
	block->records++;
	block->first_ns = MIN(block->first_ns, rec->time);
	block->last_ns = MAX(block->last_ns, rec->time);
	if (w->batch->size >= CAPTURE_BLOCK_BYTES)
		end_batch(w, 0);
}

/* The first blocks are shorter, so that even a recording killed early leaves data. */
static uint64_t block_ns(const struct capture_writer *w)
{
	return w->sequence < FIRST_FRAMES ? w->block_ns >> (FIRST_FRAMES - w->sequence)
					  : w->block_ns;
}

bool capture_writer_is_due(const struct capture_writer *w, uint64_t now_ns)
{
	return w->batch && now_ns - w->batch->begin_ns >= block_ns(w);
}

void capture_writer_poll(struct capture_writer *w, uint64_t now_ns)
{
	w->now_ns = now_ns;
	if (capture_writer_is_due(w, now_ns))
		end_batch(w, 0);
}

void capture_writer_drain(struct capture_writer *w)
{
	pthread_mutex_lock(&w->queue->lock);
	await_idle(w->queue);
	pthread_mutex_unlock(&w->queue->lock);
}

void capture_writer_pin(struct capture_writer *w, struct capture_window *window)
{
	struct batch_queue *q = w->queue;

	end_batch(w, 0);
	pthread_mutex_lock(&q->lock);
	await_idle(q);
	q->is_pinned = true;
	kept_epochs_window(&q->kept, window);
	window->end = q->written.bytes;
	pthread_mutex_unlock(&q->lock);
	window->sequence = w->sequence;
	window->samples = w->samples;
}

void capture_writer_unpin(struct capture_writer *w)
{
	pthread_mutex_lock(&w->queue->lock);
	w->queue->is_pinned = false;
	pthread_mutex_unlock(&w->queue->lock);
}

bool capture_writer_next_window(struct capture_writer *w, uint64_t now_ns, bool is_end,
				struct capture_window *window)
{
	struct batch_queue *q = w->queue;
	bool is_there;

	pthread_mutex_lock(&q->lock);
	is_there = kept_epochs_next(&q->kept, now_ns, is_end, window);
	window->end = q->written.bytes;
	pthread_mutex_unlock(&q->lock);
	return is_there;
}

void capture_writer_end_window(struct capture_writer *w)
{
	struct batch_queue *q = w->queue;

	pthread_mutex_lock(&q->lock);
	kept_epochs_end_window(&q->kept, q->fd, q->written.bytes);
	pthread_mutex_unlock(&q->lock);
}

uint64_t capture_writer_drop_windows(struct capture_writer *w)
{
	struct batch_queue *q = w->queue;
	uint64_t samples;

	pthread_mutex_lock(&q->lock);
	samples = kept_epochs_drop_windows(&q->kept, q->fd, q->written.bytes);
	pthread_mutex_unlock(&q->lock);
	return samples;
}

void capture_writer_finish(struct capture_writer *w, bool complete)
{
	if (!w->batch)
		w->batch = new_batch(w);
	end_batch(w, complete ? CAPTURE_BLOCK_END : 0);
	batch_queue_finish(w->queue);
}
