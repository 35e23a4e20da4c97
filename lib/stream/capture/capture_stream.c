/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_reader.h"

#include "lib/base/crc32.h"
#include "lib/stream/record/records.h"

/* Parts of a capture, in the order of reading. */
enum part { PART_HEADER, PART_PADDING, PART_FRAME, PART_CONTENTS };

struct capture_stream {
	struct source source;
	int fd;
	enum part part;
	struct capture_header header;
	struct capture_block block; /* block being read, or whose records are being returned */
	size_t filled; /* bytes of the current part read so far */
	uint8_t *packed, *raw;
	size_t raw_at, raw_size;
	struct block_unpacker *unpacker;
	bool was_state; /* the previous block was a state block */
	bool begins_state; /* the last record returned is the first of a state */
	uint64_t samples; /* REC_SAMPLE records so far */
	uint64_t lost;
};

static const struct rec *next_record(struct capture_stream *s)
{
	while (s->raw_size - s->raw_at >= sizeof(struct rec)) {
		const struct rec *rec = (const struct rec *)(s->raw + s->raw_at);
		size_t left = s->raw_size - s->raw_at, size = record_size(rec);

		if (size < sizeof(*rec) || size > left)
			break;
		s->begins_state = !s->raw_at && s->block.flags & CAPTURE_BLOCK_STATE &&
				  !s->was_state;
		s->raw_at += size;
		s->samples += rec->kind == REC_SAMPLE;
		if (record_is_valid(rec, left))
			return rec;
	}
	s->raw_at = s->raw_size;
	return NULL;
}

/*
 * Reads until `size` bytes of the part are there. Returns 1, 0 at the end, -EAGAIN or another
 * errno.
 */
static int fill(struct capture_stream *s, void *data, size_t size)
{
	while (s->filled < size) {
		ssize_t n = read(s->fd, (uint8_t *)data + s->filled, size - s->filled);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		s->filled += (size_t)n;
	}
	s->filled = 0;
	return 1;
}

static int enter_header(struct capture_stream *s, struct error *err)
{
	int ret = capture_header_check(&s->header, sizeof(s->header), err);

	if (ret)
		return ret;
	s->part = s->header.size > sizeof(s->header) ? PART_PADDING : PART_FRAME;
	return 1;
}

static int enter_block(struct capture_stream *s, struct error *err)
{
	if (!capture_block_is_good(&s->block))
		return error_text(err, -EBADMSG, "the stream of records is damaged");
	s->part = PART_CONTENTS;
	return 1;
}

static bool is_beside(const struct capture_block *f)
{
	return f->flags & (CAPTURE_BLOCK_FILE | CAPTURE_BLOCK_STATE);
}

static int enter_contents(struct capture_stream *s, struct error *err)
{
	const struct capture_block *f = &s->block;

	if (crc32_add(0, s->packed, f->packed_size) != f->packed_check ||
	    !block_unpacker_unpack(s->unpacker, s->header.version, f, s->packed, s->raw))
		return error_text(err, -EBADMSG, "the stream of records is damaged");
	if (!is_beside(f) && f->samples > s->samples) {
		s->lost += f->samples - s->samples;
		s->samples = f->samples;
	}
	s->raw_at = 0;
	s->raw_size = f->raw_size;
	s->part = PART_FRAME;
	return 1;
}

/* Reads the next part. Returns the same as fill(). */
static int read_part(struct capture_stream *s, struct error *err)
{
	int ret;

	switch (s->part) {
	case PART_HEADER:
		ret = fill(s, &s->header, sizeof(s->header));
		return ret > 0 ? enter_header(s, err) : ret;
	case PART_PADDING:
		ret = fill(s, s->packed, s->header.size - sizeof(s->header));
		s->part = ret > 0 ? PART_FRAME : PART_PADDING;
		return ret;
	case PART_FRAME:
		if (!s->filled)
			s->was_state = s->block.flags & CAPTURE_BLOCK_STATE;
		ret = fill(s, &s->block, sizeof(s->block));
		return ret > 0 ? enter_block(s, err) : ret;
	default:
		ret = fill(s, s->packed, s->block.packed_size);
		return ret > 0 ? enter_contents(s, err) : ret;
	}
}

/* The source is the stream's first member. */
static int next(struct source *source, const struct rec **rec, struct error *err)
{
	struct capture_stream *s = (struct capture_stream *)source;

	for (;;) {
		int ret;

		*rec = next_record(s);
		if (*rec)
			return SOURCE_RECORD;
		ret = read_part(s, err);
		if (ret == -EAGAIN)
			return SOURCE_IDLE;
		if (ret < 0)
			return ret == -EBADMSG
				       ? ret
				       : error_set(err, ret, "cannot read the stream of records");
		if (!ret)
			return SOURCE_END;
	}
}

static const struct source_ops ops = {.next = next};

struct capture_stream *capture_stream_new(int fd)
{
	struct capture_stream *s = xcalloc(1, sizeof(*s));

	s->source.ops = &ops;
	s->fd = fd;
	s->packed = xmalloc(CAPTURE_PACKED_MAX);
	s->raw = xmalloc(CAPTURE_RAW_MAX);
	s->unpacker = block_unpacker_new();
	return s;
}

void capture_stream_free(struct capture_stream *s)
{
	if (!s)
		return;
	block_unpacker_free(s->unpacker);
	free(s->packed);
	free(s->raw);
	free(s);
}

struct source *capture_stream_source(struct capture_stream *s)
{
	return &s->source;
}

bool capture_stream_is_state(const struct capture_stream *s, bool *begins)
{
	*begins = s->begins_state;
	return s->raw_at && s->block.flags & CAPTURE_BLOCK_STATE;
}

uint64_t capture_stream_lost(const struct capture_stream *s)
{
	return s->lost;
}
