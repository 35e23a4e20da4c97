/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_reader.h"

#include <pthread.h>
#include <zstd.h>

#include "lib/base/crc32.h"
#include "lib/base/open_file.h"
#include "lib/base/workers.h"
#include "lib/stream/capture/columns.h"
#include "lib/stream/record/records.h"

struct block_unpacker {
	ZSTD_DCtx *unpacker;
	struct columns *columns;
	uint8_t *encoded; /* records in columns */
};

struct block_unpacker *block_unpacker_new(void)
{
	struct block_unpacker *u = xcalloc(1, sizeof(*u));

	u->encoded = xmalloc(CAPTURE_RAW_MAX);
	u->columns = columns_new();
	u->unpacker = ZSTD_createDCtx();
	if (!u->unpacker)
		alloc_failed();
	return u;
}

void block_unpacker_free(struct block_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->unpacker);
	columns_free(u->columns);
	free(u->encoded);
	free(u);
}

bool block_unpacker_unpack(struct block_unpacker *u, uint32_t version,
			   const struct capture_block *f, const uint8_t *packed, uint8_t *raw)
{
	bool has_columns = f->flags & CAPTURE_BLOCK_COLUMNS;
	size_t wanted = has_columns ? f->columns_size : f->raw_size;
	size_t size = ZSTD_decompressDCtx(u->unpacker, has_columns ? u->encoded : raw, wanted,
					  packed, f->packed_size);

	if (ZSTD_isError(size) || size != wanted)
		return false;
	return !has_columns ||
	       columns_decode(u->columns, version, u->encoded, size, raw, f->raw_size);
}

int capture_header_check(const struct capture_header *h, size_t size, struct error *err)
{
	if (size < sizeof(*h) || !capture_is_one(h, sizeof(*h)))
		return error_text(err, -EBADMSG, "not a capture, or its beginning is missing");
	if (!h->version || h->version > CAPTURE_VERSION)
		return error_text(err, -EBADMSG,
				  "unsupported capture version %u: this prof reads up to %u",
				  h->version, CAPTURE_VERSION);
	if (crc32_add(0, h, offsetof(struct capture_header, check)) != h->check ||
	    h->size < sizeof(*h) || h->size > CAPTURE_RAW_MAX)
		return error_text(err, -EBADMSG, "the header of the capture is damaged");
	return 0;
}

bool capture_block_is_good(const struct capture_block *f)
{
	return f->magic == CAPTURE_BLOCK_MAGIC &&
	       crc32_add(0, f, offsetof(struct capture_block, check)) == f->check &&
	       f->raw_size <= CAPTURE_RAW_MAX && f->packed_size <= CAPTURE_PACKED_MAX &&
	       (!(f->flags & CAPTURE_BLOCK_COLUMNS) || f->columns_size <= CAPTURE_RAW_MAX);
}

/* Bytes to read at once when searching for the next block. */
#define SEARCH_SIZE ((size_t)64 << 10)
/*
 * Limit of bytes wasted on blocks with a valid header and damaged contents: bounds the search in a
 * forged file to this plus the file's own size.
 */
#define VAIN_MAX ((uint64_t)64 << 20)
/*
 * Limits of the records in a file, in bytes: an absolute one, and a multiple of its size. Real
 * files expand 2 to 20 times; zstd could expand a forged one 10,000 times and exhaust memory.
 */
#define RAW_FREE ((uint64_t)64 << 20)
#define RAW_RATIO 40

/* Late stacks of samples before to_ns arrive within this time. */
#define LATE_NS 1000000000ull

/* A position where reading can start. */
struct epoch {
	uint64_t at; /* position of the state; 0: no epoch */
	/* Sequence number of the first block; number of state blocks still to come. */
	uint64_t sequence, left;
	uint64_t time;
};

/* Output of block_reader_next(): the block and its context. */
struct block_contents {
	int result;
	struct capture_block block;
	bool is_past; /* the block lies after the selected part; only its facts are needed */
	/*
	 * With windows: the block belongs to the next window, or is also read for the previous
	 * window.
	 */
	bool is_late, is_early;
	bool is_after_gap; /* blocks before it are missing, with this many samples: */
	uint64_t lost_samples;
	struct capture_counts counts; /* counts so far, without the record counts */
	/* caller's buffer of CAPTURE_RAW_MAX bytes; the first block.raw_size are set */
	uint8_t *raw;
};

struct block_reader {
	int fd;
	struct capture_header header;
	uint64_t at; /* position of the next block */
	uint64_t sequence, samples; /* values expected in the next block header */
	uint64_t vain;
	uint64_t raw_total, packed_total; /* total bytes of blocks so far */
	struct capture_counts counts;
	uint64_t first_at; /* position of the state to start with; 0: the file's beginning */
	uint64_t to_ns; /* time of the last record to return */
	bool is_past; /* a record after to_ns was read */
	bool is_skipped; /* the block was not read because it is not needed */
	bool is_begun; /* a block of the stream was read */
	bool is_window;
	bool is_late; /* the state at the start of the next window was read */
	bool has_late; /* a block after that state was read */
	bool is_settled; /* no more blocks of the previous window can follow */
	bool wants_state; /* blocks are missing, and the next state block replaces them */
	struct block_contents *out; /* destination for the current block */
	uint8_t *packed;
	struct block_unpacker *unpacker;
};

bool capture_is_one(const void *bytes, size_t size)
{
	return size >= CAPTURE_MAGIC_SIZE && !memcmp(bytes, CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE);
}

static int read_header(struct block_reader *r, struct error *err)
{
	struct capture_header *h = &r->header;
	ssize_t n = read_at(r->fd, h, sizeof(*h), 0);
	int ret;

	if (n < 0)
		return error_set(err, (int)n, "cannot read");
	ret = capture_header_check(h, (size_t)n, err);
	if (!ret)
		r->at = h->size;
	return ret;
}

/* True if the block with this header must be read. Other blocks may be truncated. */
static bool is_wanted(struct block_reader *r)
{
	const struct capture_block *f = &r->out->block;

	if (f->flags & CAPTURE_BLOCK_FILE)
		return true;
	if (r->at < r->first_at)
		return false;
	r->is_late |= r->is_window && f->flags & CAPTURE_BLOCK_STATE && r->is_begun;
	if (f->flags & CAPTURE_BLOCK_STATE)
		return r->wants_state || f->sequence > r->sequence;
	if (f->records && f->first_ns > r->to_ns)
		r->is_past = true;
	return !r->is_past || f->flags & CAPTURE_BLOCK_END;
}

/* Reads the block at r->at. Returns 1 if it is whole, 0 if not, or a negative errno. */
static int read_block(struct block_reader *r)
{
	struct capture_block *f = &r->out->block;
	ssize_t n = read_at(r->fd, f, sizeof(*f), r->at);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(*f) || !capture_block_is_good(f) || r->vain > VAIN_MAX)
		return 0;
	r->is_skipped = !is_wanted(r);
	if (r->is_skipped)
		return 1;
	n = read_at(r->fd, r->packed, f->packed_size, r->at + sizeof(*f));
	if (n < 0)
		return (int)n;
	if ((size_t)n == f->packed_size && crc32_add(0, r->packed, (size_t)n) == f->packed_check) {
		if (block_unpacker_unpack(r->unpacker, r->header.version, f, r->packed,
					  r->out->raw))
			return 1;
		r->vain += f->raw_size;
	}
	r->vain += (uint64_t)n;
	return 0;
}

/* Returns the first header with a valid check, or one truncated by the end; NULL if none. */
static const uint8_t *find_header(const uint8_t *data, size_t size)
{
	const uint32_t magic = CAPTURE_BLOCK_MAGIC;
	const uint8_t *at = data, *end = data + size;
	struct capture_block block;

	while ((at = memmem(at, (size_t)(end - at), &magic, sizeof(magic)))) {
		if ((size_t)(end - at) < sizeof(block))
			return at;
		memcpy(&block, at, sizeof(block));
		if (capture_block_is_good(&block))
			return at;
		at++;
	}
	return NULL;
}

/* Moves to the next block with a valid header at or after `at`; UINT64_MAX if none. */
static int find_magic(struct block_reader *r, uint64_t *at)
{
	for (;;) {
		ssize_t n = read_at(r->fd, r->packed, SEARCH_SIZE, *at);
		const uint8_t *found;

		if (n < 0)
			return (int)n;
		if ((size_t)n < sizeof(struct capture_block))
			break;
		found = find_header(r->packed, (size_t)n);
		if (!found) {
			*at += (uint64_t)n - sizeof(uint32_t) + 1;
			continue;
		}
		*at += (uint64_t)(found - r->packed);
		if ((size_t)(r->packed + n - found) >= sizeof(struct capture_block))
			return 0;
	}
	*at = UINT64_MAX;
	return 0;
}

/*
 * Moves to the next whole block and reads it. Like read_block(), but 0 means the end of the file.
 */
static int next_whole_block(struct block_reader *r)
{
	uint64_t start = r->at, at = start;
	int ret = read_block(r);

	while (!ret) {
		at++;
		ret = find_magic(r, &at);
		if (ret || at == UINT64_MAX || r->vain > VAIN_MAX)
			break;
		r->at = at;
		ret = read_block(r);
	}
	if (ret > 0)
		r->counts.skipped_bytes += r->at - start;
	return ret;
}

/* Derives the number of missing blocks and samples from the counts of a block. */
static void note_missing(struct block_reader *r)
{
	const struct capture_block *f = &r->out->block;

	if (f->sequence <= r->sequence)
		return;
	r->out->is_after_gap = true;
	/* Nothing before the selected part counts as missing. */
	if (f->samples > r->samples && (r->is_begun || !r->first_at))
		r->out->lost_samples = f->samples - r->samples;
	/* The next window counts its missing blocks itself. */
	if (r->has_late)
		r->out->lost_samples = 0;
	r->counts.lost_samples += r->out->lost_samples;
	r->wants_state = true;
}

/*
 * True if the records are too many for the size of the part read: the rest of the file may be a
 * hole.
 */
static bool is_swollen(struct block_reader *r)
{
	r->raw_total += r->out->block.raw_size;
	r->packed_total += r->out->block.packed_size;
	return r->raw_total > RAW_FREE + RAW_RATIO * r->packed_total;
}

/* Handles a block of the stream, and notes where the stream continues. */
static void enter_stream(struct block_reader *r)
{
	const struct capture_block *f = &r->out->block;

	if (f->flags & CAPTURE_BLOCK_END)
		r->counts.is_complete = true;
	if (r->is_past)
		return;
	note_missing(r);
	r->has_late |= r->is_late;
	r->is_settled |= f->records && f->first_ns > r->header.start_ns + LATE_NS;
	r->is_begun = true;
	r->sequence = f->sequence + 1;
	r->samples = f->samples;
	/* Any state needed before this block has been read. */
	if (f->flags & CAPTURE_BLOCK_EPOCH)
		r->wants_state = false;
}

static uint64_t count_samples(const struct block_contents *block)
{
	size_t left = block->block.raw_size;
	uint64_t count = 0;

	for (const uint8_t *at = block->raw; left >= sizeof(struct rec);) {
		const struct rec *rec = (const struct rec *)at;
		size_t size = record_size(rec);

		if (size < sizeof(*rec) || size > left)
			break;
		count += rec->kind == REC_SAMPLE;
		at += size;
		left -= size;
	}
	return count;
}

static int read_next(struct block_reader *r)
{
	const struct capture_block *f = &r->out->block;
	int ret;

	do {
		ret = next_whole_block(r);
		if (ret <= 0)
			return ret;
		r->at += sizeof(*f) + f->packed_size;
	} while (r->is_skipped);
	if (is_swollen(r))
		return -EFBIG;
	r->counts.blocks++;
	if (!(f->flags & (CAPTURE_BLOCK_FILE | CAPTURE_BLOCK_STATE)))
		enter_stream(r);
	r->samples += count_samples(r->out);
	return 1;
}

/*
 * Returns 1 for a block, 0 at the end, -EFBIG if the file holds too much, or any other read error.
 */
static int block_reader_next(struct block_reader *r, struct block_contents *out)
{
	r->out = out;
	out->is_after_gap = false;
	out->lost_samples = 0;
	out->result = read_next(r);
	out->is_past = r->is_past;
	out->is_late = r->is_late;
	out->is_early = r->first_at && !r->is_settled;
	out->counts = r->counts;
	return out->result;
}

/*
 * Handles a file that holds only the end of a recording: it begins with a state, and nothing is
 * missing before it.
 */
static void find_start(struct block_reader *r)
{
	struct capture_block f;

	if (read_at(r->fd, &f, sizeof(f), r->at) != (ssize_t)sizeof(f) ||
	    !capture_block_is_good(&f) || !(f.flags & CAPTURE_BLOCK_STATE))
		return;
	r->first_at = r->at;
	r->wants_state = true;
}

/* Has the same contract as capture_reader_open(). */
static int block_reader_open(struct block_reader **out, int fd, struct error *err)
{
	struct block_reader *r = xcalloc(1, sizeof(*r));
	int ret;

	r->fd = fd;
	r->to_ns = UINT64_MAX;
	ret = read_header(r, err);
	if (ret) {
		free(r);
		return ret;
	}
	find_start(r);
	r->packed = xmalloc(CAPTURE_PACKED_MAX);
	r->unpacker = block_unpacker_new();
	*out = r;
	return 0;
}

/* Accepts NULL. */
static void block_reader_free(struct block_reader *r)
{
	if (!r)
		return;
	block_unpacker_free(r->unpacker);
	free(r->packed);
	free(r);
}

/* Notes an epoch if its state is complete from the first block on. */
static bool note_epoch(struct epoch *e, const struct capture_block *f, uint64_t at)
{
	if (f->flags & CAPTURE_BLOCK_STATE) {
		if (e->sequence != f->sequence || f->samples != e->left)
			*e = (struct epoch){.at = at, .sequence = f->sequence};
		e->time = f->first_ns;
		e->left = f->samples - 1;
		return false;
	}
	return f->flags & CAPTURE_BLOCK_EPOCH && e->at && f->sequence == e->sequence && !e->left;
}

/* Searches block headers for the epoch to start with. Returns 0 or a negative errno. */
static int find_epoch(struct block_reader *r, uint64_t from_ns, struct epoch *found)
{
	struct epoch next = {0};

	for (uint64_t at = r->header.size;;) {
		struct capture_block f;
		ssize_t n = read_at(r->fd, &f, sizeof(f), at);
		int ret;

		if (n < 0)
			return (int)n;
		if ((size_t)n < sizeof(f))
			return 0;
		if (!capture_block_is_good(&f)) {
			at++;
			ret = find_magic(r, &at);
			if (ret || at == UINT64_MAX)
				return ret;
			continue;
		}
		if (note_epoch(&next, &f, at)) {
			if (next.time > from_ns)
				return 0;
			*found = next;
		}
		at += sizeof(f) + f.packed_size;
	}
}

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
	return !block->is_early || !happens_once(rec) || rec->time >= r->blocks->header.start_ns;
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
	struct epoch first = {0};
	int ret = find_epoch(r->blocks, from_ns, &first);

	if (ret)
		return error_set(err, ret, "cannot read the capture");
	if (first.at) {
		r->blocks->first_at = first.at;
		r->blocks->wants_state = true;
	}
	if (to_ns < UINT64_MAX - LATE_NS)
		r->blocks->to_ns = to_ns + LATE_NS;
	return 0;
}

void capture_reader_limit(struct capture_reader *r, uint64_t end_ns)
{
	r->end_ns = end_ns;
	r->blocks->is_window = true;
	r->blocks->to_ns = end_ns + LATE_NS;
}

const struct capture_header *capture_reader_header(const struct capture_reader *r)
{
	return &r->blocks->header;
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
