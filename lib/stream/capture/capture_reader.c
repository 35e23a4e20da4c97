/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_reader.h"

#include <pthread.h>

#include "lib/base/workers.h"
#include "lib/stream/capture/block_reader.h"
#include "lib/stream/record/records.h"

/* Reads blocks ahead in a separate thread, so that unpacking and processing overlap. */

struct block_ahead;

/* One buffer is in use while the others are filled. */
#define SLOTS 4u
/* Files with fewer blocks than this are read before a thread could help. */
#define FRAMES_WITHOUT 8u

struct block_ahead {
	struct block_reader *reader;
	struct block_contents slots[SLOTS];
	uint64_t used; /* number of blocks handed out */
	pthread_t thread;
	bool has_thread, has_failed; /* has_failed: the thread could not be created */
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	uint64_t read; /* blocks read by the thread, or before it was started */
	uint64_t released; /* blocks no longer in use */
	bool is_ending;
};

/* Borrows the reader, which no other code may use from the first block on. */
static struct block_ahead *block_ahead_new(struct block_reader *reader)
{
	struct block_ahead *a = xcalloc(1, sizeof(*a));

	a->reader = reader;
	for (size_t i = 0; i < SLOTS; i++)
		a->slots[i].raw = xmalloc(CAPTURE_RAW_MAX);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	return a;
}

/* Ends reading. Accepts NULL. */
static void block_ahead_free(struct block_ahead *a)
{
	if (!a)
		return;
	if (a->has_thread) {
		pthread_mutex_lock(&a->lock);
		a->is_ending = true;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	for (size_t i = 0; i < SLOTS; i++)
		free(a->slots[i].raw);
	free(a);
}

static void *read_blocks(void *ctx)
{
	struct block_ahead *a = ctx;
	int result = 1;

	while (result > 0) {
		struct block_contents *slot;

		pthread_mutex_lock(&a->lock);
		while (a->read - a->released >= SLOTS && !a->is_ending)
			pthread_cond_wait(&a->changed, &a->lock);
		slot = a->is_ending ? NULL : &a->slots[a->read % SLOTS];
		pthread_mutex_unlock(&a->lock);
		if (!slot)
			break;
		result = block_reader_next(a->reader, slot);
		pthread_mutex_lock(&a->lock);
		a->read++;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* Without a thread, blocks are read on demand. */
static void start_thread(struct block_ahead *a)
{
	a->read = a->released = a->used;
	a->has_thread = !thread_start(&a->thread, "prof-reader", read_blocks, a);
	a->has_failed = !a->has_thread;
}

static void await_block(struct block_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->released != a->used) {
		a->released = a->used;
		pthread_cond_signal(&a->changed);
	}
	while (a->read == a->used)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

/*
 * Returns the next result, valid until the next call; at the end, returns the last one repeatedly.
 */
static const struct block_contents *block_ahead_next(struct block_ahead *a)
{
	struct block_contents *slot = &a->slots[a->used % SLOTS];

	if (a->used && a->slots[(a->used - 1) % SLOTS].result <= 0)
		return &a->slots[(a->used - 1) % SLOTS];
	if (a->used == FRAMES_WITHOUT && !a->has_thread && !a->has_failed)
		start_thread(a);
	if (a->has_thread)
		await_block(a);
	else
		block_reader_next(a->reader, slot);
	a->used++;
	return slot;
}

/* Bytes of file contents per record. */
#define CONTENTS_CHUNK ((size_t)128 << 10)

void capture_contents_free(struct capture_contents *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->parts[i].bytes);
	free(c->parts);
	close(c->fd);
	free(c);
}

size_t capture_contents_next(struct capture_contents *c, void *into)
{
	const struct capture_part *part;
	struct rec_file *rec = into;
	size_t size;
	ssize_t n;

	for (; c->part < c->count; c->part++, c->at = 0) {
		part = &c->parts[c->part];
		if (c->at >= part->size)
			continue;
		size = part->size - c->at < CONTENTS_CHUNK ? (size_t)(part->size - c->at)
							   : CONTENTS_CHUNK;
		n = (ssize_t)size;
		if (part->bytes)
			memcpy(rec->bytes, (uint8_t *)part->bytes + c->at, size);
		else
			n = pread(c->fd, rec->bytes, size, (off_t)(part->offset + c->at));
		if (n <= 0)
			continue;
		memset(rec->bytes + n, 0, -(size_t)n & 7);
		record_init(&rec->rec, REC_FILE, rec_file_size((size_t)n), 0, 0, 0);
		rec->module_id = c->module_id;
		rec->size = (uint32_t)n;
		rec->offset = part->offset + c->at;
		c->at += (size_t)n;
		return record_size(&rec->rec);
	}
	return 0;
}

struct capture_reader {
	struct source source;
	struct block_reader *blocks;
	struct block_ahead *ahead;
	/* Block whose records are being returned; NULL: none yet. */
	const struct block_contents *block;
	size_t raw_at, raw_size;
	struct capture_counts counts; /* record counts */
	bool begins_epoch; /* the last record read begins an epoch */
	uint64_t end_ns; /* end of the window to read; 0: read to the end */
	struct rec_lost lost;
};

static bool is_in_place(const struct block_contents *block, const struct rec *rec)
{
	if (block->block.flags & CAPTURE_BLOCK_FILE)
		return rec->kind == REC_FILE;
	return rec->kind != REC_FILE && (!block->is_past || rec->kind == REC_META);
}

/* True for a record of a single event, which must appear in one window only. */
static bool happens_once(const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT:
	case REC_LOST:
	case REC_THROTTLED:
	case REC_MARKER:
	case REC_ALLOC:
	case REC_FREE:
		return true;
	default:
		return false;
	}
}

/* Blocks shortly after the beginning of a window are also read for the previous one. */
static bool is_in_window(const struct capture_reader *r, const struct rec *rec)
{
	const struct block_contents *block = r->block;

	if (block->is_late)
		return rec->kind == REC_STACK || rec->kind == REC_META || rec->time < r->end_ns;
	return !block->is_early || !happens_once(rec) ||
	       rec->time >= block_reader_header(r->blocks)->start_ns;
}

/* Returns the next record of the block, or NULL at its end. */
static const struct rec *next_record(struct capture_reader *r)
{
	while (r->raw_size - r->raw_at >= sizeof(struct rec)) {
		const struct rec *rec = (const struct rec *)(r->block->raw + r->raw_at);
		size_t left = r->raw_size - r->raw_at, size = record_size(rec);

		if (size < sizeof(*rec) || size > left)
			break;
		r->raw_at += size;
		if (!is_in_place(r->block, rec) || (r->end_ns && !is_in_window(r, rec)))
			continue;
		if (!record_is_valid(rec, left)) {
			r->counts.unknown_records++;
			continue;
		}
		r->counts.records++;
		if (rec->time > r->counts.end_ns && clock_can_show(rec->time) &&
		    !r->block->is_past && !r->block->is_late)
			r->counts.end_ns = rec->time;
		return rec;
	}
	r->raw_at = r->raw_size;
	return NULL;
}

/* Returns a record for the samples in missing blocks; NULL if none are missing. */
static const struct rec *begin_block(struct capture_reader *r)
{
	r->raw_at = 0;
	r->raw_size = r->block->block.raw_size;
	if (!r->block->is_after_gap)
		return NULL;
	record_init(&r->lost.rec, REC_LOST, sizeof(r->lost), r->block->block.first_ns, 0, 0);
	r->lost.cause = LOST_CAPTURE;
	r->lost.event = 0;
	r->lost.count = r->block->lost_samples;
	return &r->lost.rec;
}

/* The source is the reader's first member. */
static int next(struct source *s, const struct rec **rec, struct error *err)
{
	struct capture_reader *r = (struct capture_reader *)s;

	r->begins_epoch = false;
	for (;;) {
		*rec = next_record(r);
		if (*rec)
			return SOURCE_RECORD;
		r->block = block_ahead_next(r->ahead);
		if (r->block->result == -EFBIG)
			return error_text(err, -EFBIG,
					  "the records are too large for the size of the file");
		if (r->block->result < 0)
			return error_set(err, r->block->result, "cannot read the capture");
		if (!r->block->result)
			return SOURCE_END;
		r->begins_epoch |= r->block->block.flags & CAPTURE_BLOCK_EPOCH;
		*rec = begin_block(r);
		if (*rec)
			return SOURCE_RECORD;
	}
}

static const struct source_ops ops = {.next = next};

int capture_reader_open(struct capture_reader **out, int fd, struct error *err)
{
	struct block_reader *blocks;
	struct capture_reader *r;
	int ret = block_reader_open(&blocks, fd, err);

	if (ret)
		return ret;
	r = xcalloc(1, sizeof(*r));
	r->source.ops = &ops;
	r->blocks = blocks;
	r->ahead = block_ahead_new(blocks);
	*out = r;
	return 0;
}

void capture_reader_free(struct capture_reader *r)
{
	if (!r)
		return;
	block_ahead_free(r->ahead);
	block_reader_free(r->blocks);
	free(r);
}

struct source *capture_reader_source(struct capture_reader *r)
{
	return &r->source;
}

int capture_reader_select(struct capture_reader *r, uint64_t from_ns, uint64_t to_ns,
			  struct error *err)
{
	return block_reader_select(r->blocks, from_ns, to_ns, err);
}

void capture_reader_limit(struct capture_reader *r, uint64_t end_ns)
{
	r->end_ns = end_ns;
	block_reader_limit(r->blocks, end_ns);
}

const struct capture_header *capture_reader_header(const struct capture_reader *r)
{
	return block_reader_header(r->blocks);
}

void capture_reader_count(const struct capture_reader *r, struct capture_counts *counts)
{
	*counts = r->block ? r->block->counts : (struct capture_counts){0};
	counts->records = r->counts.records;
	counts->unknown_records = r->counts.unknown_records;
	counts->end_ns = r->counts.end_ns;
}

bool capture_reader_begins_epoch(const struct capture_reader *r)
{
	return r->begins_epoch;
}

bool capture_reader_is_state(const struct capture_reader *r)
{
	return r->block && r->block->block.flags & CAPTURE_BLOCK_STATE && r->raw_at;
}
