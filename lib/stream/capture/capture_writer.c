/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_writer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/stream/capture/batch_queue.h"
#include "lib/stream/capture/state.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"

/* Number of first frames that are shorter, each twice as long as the one before. */
#define FIRST_FRAMES 5
/* An epoch is at most this large, and this many times as large as the state before it. */
#define EPOCH_BYTES ((uint64_t)64 << 20)
#define STATE_RATIO 20
/* Stacks in memory at which an epoch begins: the next one needs only those of tasks that sleep. */
#define STACKS_BYTES ((uint64_t)16 << 20)
/* Records of the epoch before last are not under way any more. */
#define EPOCH_MIN_NS 100000000ull

struct capture_writer {
	struct batch_queue *queue;
	struct capture_batch *batch; /* the one that grows, or NULL */
	uint64_t sequence, samples;
	uint64_t now_ns; /* as last told */
	struct capture_state *state;
	uint64_t frame_ns; /* length of a frame */
	uint64_t epoch_bytes; /* limit for an epoch */
	uint64_t epoch_ns; /* when the latest epoch began, or will */
	uint64_t epoch_at; /* bytes written then */
	uint64_t state_at; /* written.state_bytes before it */
	bool awaits_epoch; /* no record of it has come yet */
	uint32_t next_flags; /* of the next frame */
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

struct capture_writer *capture_writer_new(const struct capture_writer_options *options,
					  const struct capture_start *start, struct error *err)
{
	struct capture_writer *w = xcalloc(1, sizeof(*w));
	int ret;

	w->queue = batch_queue_new(options);
	w->state = capture_state_new();
	w->epoch_ns = start->start_ns;
	w->frame_ns = options->frame_ns ? options->frame_ns : CAPTURE_FRAME_NS;
	w->epoch_bytes = options->keep_bytes ? options->keep_bytes / CAPTURE_KEPT_EPOCHS
					     : EPOCH_BYTES;
	ret = write_header(w, start);
	if (!ret)
		return w;
	error_set(err, ret, "write a capture");
	capture_writer_free(w);
	return NULL;
}

static struct capture_batch *new_batch(struct capture_writer *w)
{
	struct capture_batch *batch = batch_queue_take(w->queue);

	batch->begin_ns = w->now_ns;
	batch->frame.samples = w->samples;
	batch->frame.first_ns = UINT64_MAX;
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

/* Hands the batch to the thread, if there is room. */
static void end_batch(struct capture_writer *w, uint32_t flags)
{
	struct capture_batch *batch = steal(w->batch);

	if (!batch)
		return;
	batch->frame.sequence = w->sequence++;
	batch->frame.flags = flags | w->next_flags;
	w->next_flags = 0;
	if (!batch->frame.records)
		batch->frame.first_ns = 0;
	batch_queue_push(w->queue, batch, flags);
}

/* The frames of a state, before they are handed to the thread. */
struct state_frames {
	struct capture_writer *writer;
	struct capture_batch *head, **tail, *last;
	uint64_t count;
};

static void add_state(void *ctx, const struct rec *rec)
{
	struct state_frames *f = ctx;
	size_t size = record_size(rec);

	if (!f->last || f->last->size >= CAPTURE_FRAME_BYTES) {
		f->last = new_batch(f->writer);
		*f->tail = f->last;
		f->tail = &f->last->next;
		f->count++;
	}
	memcpy(f->last->data + f->last->size, rec, size);
	f->last->size += size;
	f->last->frame.records++;
}

static void label_state(const struct state_frames *f)
{
	const struct capture_writer *w = f->writer;
	uint64_t left = f->count;

	for (struct capture_batch *batch = f->head; batch; batch = batch->next) {
		struct capture_frame *frame = &batch->frame;

		frame->flags = CAPTURE_FRAME_STATE;
		frame->sequence = w->sequence;
		frame->samples = left--;
		frame->first_ns = frame->last_ns = w->epoch_ns;
	}
}

/* Writes the state before the frame that begins an epoch. Without room there is no epoch. */
static void write_state(struct capture_writer *w)
{
	struct state_frames f = {.writer = w, .tail = &f.head};
	struct capture_written written;

	w->awaits_epoch = false;
	end_batch(w, 0);
	capture_state_give(w->state, add_state, &f);
	label_state(&f);
	batch_queue_count(w->queue, &written);
	w->epoch_at = written.bytes;
	w->state_at = written.state_bytes;
	if (f.head && batch_queue_push(w->queue, f.head, false))
		w->next_flags = CAPTURE_FRAME_EPOCH;
}

bool capture_writer_wants_epoch(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns,
				bool always)
{
	struct capture_written written;
	uint64_t bytes, state_bytes;

	if (w->awaits_epoch || now_ns < w->epoch_ns + EPOCH_MIN_NS)
		return false;
	batch_queue_count(w->queue, &written);
	bytes = written.bytes - w->epoch_at;
	state_bytes = written.state_bytes - w->state_at;
	/* A state that is larger than an epoch would be followed by another one at once. */
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
	struct capture_frame *frame;

	/* Facts come between, as they become known. */
	if (w->awaits_epoch && rec->kind != REC_META && rec->time >= w->epoch_ns)
		write_state(w);
	capture_state_take(w->state, rec);
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
	return w->sequence < FIRST_FRAMES ? w->frame_ns >> (FIRST_FRAMES - w->sequence)
					  : w->frame_ns;
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

void capture_writer_drain(struct capture_writer *w)
{
	batch_queue_drain(w->queue);
}

void capture_writer_pin(struct capture_writer *w, struct capture_window *window)
{
	end_batch(w, 0);
	batch_queue_pin(w->queue, window);
	window->sequence = w->sequence;
	window->samples = w->samples;
}

void capture_writer_unpin(struct capture_writer *w)
{
	batch_queue_unpin(w->queue);
}

bool capture_writer_next_window(struct capture_writer *w, uint64_t now_ns, bool is_end,
				struct capture_window *window)
{
	return batch_queue_next_window(w->queue, now_ns, is_end, window);
}

void capture_writer_end_window(struct capture_writer *w)
{
	batch_queue_end_window(w->queue);
}

uint64_t capture_writer_drop_windows(struct capture_writer *w)
{
	return batch_queue_drop_windows(w->queue);
}

void capture_writer_count(struct capture_writer *w, struct capture_written *written)
{
	batch_queue_count(w->queue, written);
}

void capture_writer_finish(struct capture_writer *w, bool complete)
{
	if (!w->batch)
		w->batch = new_batch(w);
	end_batch(w, complete ? CAPTURE_FRAME_END : 0);
	batch_queue_finish(w->queue);
}
