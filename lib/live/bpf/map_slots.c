/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/map_slots.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"

/* Threads that wait at the same time. */
#define THREADS_MAX 16

struct worker {
	struct map_slot_filler *filler;
	size_t first; /* it fills this slot and every worker_count-th after it */
	pthread_t thread;
	bool is_running;
};

struct map_slot_filler {
	struct map_slot *slots;
	size_t count;
	map_slot_make_fn *make;
	void *ctx;
	struct worker workers[THREADS_MAX];
	size_t worker_count;
};

static int fill(const struct map_slot_filler *f, struct map_slot *slot)
{
	if (slot->fd < 0)
		slot->fd = f->make(f->ctx, slot);
	if (slot->fd < 0)
		return slot->fd;
	return bpf_map_update_elem(slot->outer_fd, &slot->key, &slot->fd, BPF_ANY);
}

static void *work(void *arg)
{
	const struct worker *w = arg;
	const struct map_slot_filler *f = w->filler;

	for (size_t i = w->first; i < f->count; i += f->worker_count)
		f->slots[i].code = fill(f, &f->slots[i]);
	return NULL;
}

struct map_slot_filler *map_slots_fill(struct map_slot *slots, size_t count, map_slot_make_fn *make,
				       void *ctx)
{
	struct map_slot_filler *f = xcalloc(1, sizeof(*f));

	f->slots = slots;
	f->count = count;
	f->make = make;
	f->ctx = ctx;
	f->worker_count = count < THREADS_MAX ? count : THREADS_MAX;
	for (size_t i = 0; i < f->worker_count; i++) {
		struct worker *w = &f->workers[i];

		w->filler = f;
		w->first = i;
		w->is_running = thread_start(&w->thread, "prof-slots", work, w) == 0;
	}
	return f;
}

void map_slots_wait(struct map_slot_filler *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->worker_count; i++) {
		if (f->workers[i].is_running)
			pthread_join(f->workers[i].thread, NULL);
		else
			work(&f->workers[i]);
	}
	free(f);
}
