/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/frame_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"

/* One is in use, the others are read meanwhile. */
#define SLOTS 4u
/* Files of few frames are read before a thread could help. */
#define FRAMES_WITHOUT 8u

struct frame_ahead {
	struct frame_reader *reader;
	struct frame_contents slots[SLOTS];
	uint64_t used; /* frames given out */
	pthread_t thread;
	bool has_thread, has_failed; /* failed: the system gave no thread */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	uint64_t read; /* frames read by the thread, and those before it */
	uint64_t released; /* frames that are no longer in use */
	bool is_ending;
};

struct frame_ahead *frame_ahead_new(struct frame_reader *reader)
{
	struct frame_ahead *a = xcalloc(1, sizeof(*a));

	a->reader = reader;
	for (size_t i = 0; i < SLOTS; i++)
		a->slots[i].raw = xmalloc(CAPTURE_RAW_MAX);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	return a;
}

void frame_ahead_free(struct frame_ahead *a)
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

static void *read_frames(void *ctx)
{
	struct frame_ahead *a = ctx;
	int result = 1;

	while (result > 0) {
		struct frame_contents *slot;

		pthread_mutex_lock(&a->lock);
		while (a->read - a->released >= SLOTS && !a->is_ending)
			pthread_cond_wait(&a->changed, &a->lock);
		slot = a->is_ending ? NULL : &a->slots[a->read % SLOTS];
		pthread_mutex_unlock(&a->lock);
		if (!slot)
			break;
		result = frame_reader_next(a->reader, slot);
		pthread_mutex_lock(&a->lock);
		a->read++;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* Without a thread, frames are read as they are needed. */
static void start_thread(struct frame_ahead *a)
{
	a->read = a->released = a->used;
	a->has_thread = !thread_start(&a->thread, "prof-reader", read_frames, a);
	a->has_failed = !a->has_thread;
}

static void await_frame(struct frame_ahead *a)
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

const struct frame_contents *frame_ahead_next(struct frame_ahead *a)
{
	struct frame_contents *slot = &a->slots[a->used % SLOTS];

	if (a->used && a->slots[(a->used - 1) % SLOTS].result <= 0)
		return &a->slots[(a->used - 1) % SLOTS];
	if (a->used == FRAMES_WITHOUT && !a->has_thread && !a->has_failed)
		start_thread(a);
	if (a->has_thread)
		await_frame(a);
	else
		frame_reader_next(a->reader, slot);
	a->used++;
	return slot;
}
