/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/stream/capture/frame_ahead.h"
#include "lib/stream/capture/frame_reader.h"
#include "lib/stream/record/record.h"

struct capture_reader {
	struct source source;
	struct frame_reader *frames;
	struct frame_ahead *ahead;
	const struct frame_contents *frame; /* gives its records out; NULL: none yet */
	size_t raw_at, raw_size;
	struct capture_counts counts; /* those of records */
	bool begins_epoch; /* the record read last does */
	uint64_t end_ns; /* of the window that is read; 0: the whole is */
	struct rec_lost lost;
};

static bool is_in_place(const struct frame_contents *frame, const struct rec *rec)
{
	if (frame->frame.flags & CAPTURE_FRAME_FILE)
		return rec->kind == REC_FILE;
	return rec->kind != REC_FILE && (!frame->is_past || rec->kind == REC_META);
}

/* Does it tell what happened once, so that it must be in one window alone? */
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

/* Frames soon after the beginning of a window are read for the one before, too. */
static bool is_in_window(const struct capture_reader *r, const struct rec *rec)
{
	const struct frame_contents *frame = r->frame;

	if (frame->is_late)
		return rec->kind == REC_STACK || rec->kind == REC_META || rec->time < r->end_ns;
	return !frame->is_early || !happens_once(rec) ||
	       rec->time >= frame_reader_header(r->frames)->start_ns;
}

/* The next record of the frame, or NULL at its end. */
static const struct rec *next_record(struct capture_reader *r)
{
	while (r->raw_size - r->raw_at >= sizeof(struct rec)) {
		const struct rec *rec = (const struct rec *)(r->frame->raw + r->raw_at);
		size_t left = r->raw_size - r->raw_at, size = record_size(rec);

		if (size < sizeof(*rec) || size > left)
			break;
		r->raw_at += size;
		if (!is_in_place(r->frame, rec) || (r->end_ns && !is_in_window(r, rec)))
			continue;
		if (!record_is_valid(rec, left)) {
			r->counts.unknown_records++;
			continue;
		}
		r->counts.records++;
		if (rec->time > r->counts.end_ns && clock_can_show(rec->time) &&
		    !r->frame->is_past && !r->frame->is_late)
			r->counts.end_ns = rec->time;
		return rec;
	}
	r->raw_at = r->raw_size;
	return NULL;
}

/* Tells of samples in missing frames; NULL: none are missing. */
static const struct rec *begin_frame(struct capture_reader *r)
{
	r->raw_at = 0;
	r->raw_size = r->frame->frame.raw_size;
	if (!r->frame->is_after_gap)
		return NULL;
	record_init(&r->lost.rec, REC_LOST, sizeof(r->lost), r->frame->frame.first_ns, 0, 0);
	r->lost.cause = LOST_CAPTURE;
	r->lost.event = 0;
	r->lost.count = r->frame->lost_samples;
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
		r->frame = frame_ahead_next(r->ahead);
		if (r->frame->result == -EFBIG)
			return error_text(err, -EFBIG, "claims to hold more than its size allows");
		if (r->frame->result < 0)
			return error_set(err, r->frame->result, "read the capture");
		if (!r->frame->result)
			return SOURCE_END;
		r->begins_epoch |= r->frame->frame.flags & CAPTURE_FRAME_EPOCH;
		*rec = begin_frame(r);
		if (*rec)
			return SOURCE_RECORD;
	}
}

static const struct source_ops ops = {.next = next};

int capture_reader_open(struct capture_reader **out, int fd, struct error *err)
{
	struct frame_reader *frames;
	struct capture_reader *r;
	int ret = frame_reader_open(&frames, fd, err);

	if (ret)
		return ret;
	r = xcalloc(1, sizeof(*r));
	r->source.ops = &ops;
	r->frames = frames;
	r->ahead = frame_ahead_new(frames);
	*out = r;
	return 0;
}

void capture_reader_free(struct capture_reader *r)
{
	if (!r)
		return;
	frame_ahead_free(r->ahead);
	frame_reader_free(r->frames);
	free(r);
}

struct source *capture_reader_source(struct capture_reader *r)
{
	return &r->source;
}

int capture_reader_select(struct capture_reader *r, uint64_t from_ns, uint64_t to_ns,
			  struct error *err)
{
	return frame_reader_select(r->frames, from_ns, to_ns, err);
}

void capture_reader_limit(struct capture_reader *r, uint64_t end_ns)
{
	r->end_ns = end_ns;
	frame_reader_limit(r->frames, end_ns);
}

const struct capture_header *capture_reader_header(const struct capture_reader *r)
{
	return frame_reader_header(r->frames);
}

void capture_reader_count(const struct capture_reader *r, struct capture_counts *counts)
{
	*counts = r->frame ? r->frame->counts : (struct capture_counts){0};
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
	return r->frame && r->frame->frame.flags & CAPTURE_FRAME_STATE && r->raw_at;
}
