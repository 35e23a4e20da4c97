/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/late_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* A page may belong to a file system that does not answer, and belongs to a stranger. */
#define WAIT_NS 50000000
/* Bytes that are read in each second of the recording. */
#define BYTES_MAX ((size_t)4 << 20)
/* The same of waiting: pages that come just in time would stop the recorder, too. */
#define WAITS_MAX_NS 200000000

/* A thread that reads. One that is stuck keeps its memory until prof ends. */
struct late_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t has_work, is_finished;
	bool is_asked, is_ending;
	/* The read; `data` belongs to the worker while is_asked. */
	pid_t pid;
	uint64_t addr;
	uint8_t *data;
	size_t size;
	bool is_done;
};

static bool read_there(const struct late_worker *w)
{
	struct iovec own = {w->data, w->size}, other = {(void *)(uintptr_t)w->addr, w->size};

	return process_vm_readv(w->pid, &own, 1, &other, 1, 0) == (ssize_t)w->size;
}

static void *work(void *ctx)
{
	struct late_worker *w = ctx;
	bool is_done;

	pthread_mutex_lock(&w->lock);
	while (!w->is_ending) {
		if (!w->is_asked) {
			pthread_cond_wait(&w->has_work, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		is_done = read_there(w);
		pthread_mutex_lock(&w->lock);
		w->is_done = is_done;
		w->is_asked = false;
		pthread_cond_signal(&w->is_finished);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static struct late_worker *start(void)
{
	struct late_worker *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t monotonic;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->has_work, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->is_finished, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&w->thread, NULL, work, w) == 0)
		return w;
	free(w);
	return NULL;
}

void late_reader_release(struct late_reader *r)
{
	struct late_worker *w = r->worker;

	if (!w || r->is_stuck)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free(w);
	r->worker = NULL;
}

void late_reader_begin(struct late_reader *r, pid_t pid, uint64_t time)
{
	r->pid = pid;
	if (time / 1000000000 == r->second)
		return;
	r->second = time / 1000000000;
	r->left = BYTES_MAX;
	r->waited_ns = 0;
}

/* Waits for the worker. False: it takes too long. */
static bool wait_for(struct late_reader *r, struct late_worker *w)
{
	uint64_t start = clock_monotonic_ns(), end = start + WAIT_NS;
	const struct timespec until = {
		.tv_sec = (time_t)(end / 1000000000),
		.tv_nsec = (long)(end % 1000000000),
	};
	int code = 0;

	while (w->is_asked && code == 0)
		code = pthread_cond_timedwait(&w->is_finished, &w->lock, &until);
	r->waited_ns += clock_monotonic_ns() - start;
	return !w->is_asked;
}

bool late_reader_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct late_reader *r = ctx;
	struct late_worker *w;
	bool is_done;

	if (r->is_stuck || size > r->left || r->waited_ns >= WAITS_MAX_NS)
		return false;
	if (!r->worker)
		r->worker = start();
	w = r->worker;
	if (!w)
		return false;
	r->left -= size;
	pthread_mutex_lock(&w->lock);
	w->data = xmalloc(size + 1);
	w->pid = r->pid;
	w->addr = addr;
	w->size = size;
	w->is_asked = true;
	pthread_cond_signal(&w->has_work);
	r->is_stuck = !wait_for(r, w);
	is_done = !r->is_stuck && w->is_done;
	if (is_done)
		memcpy(to, w->data, size);
	if (!r->is_stuck)
		free(w->data);
	pthread_mutex_unlock(&w->lock);
	if (r->is_stuck)
		pthread_detach(w->thread);
	return is_done;
}
