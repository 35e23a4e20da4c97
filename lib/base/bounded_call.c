/* SPDX-License-Identifier: MIT */
#include "lib/base/bounded_call.h"

#include <pthread.h>
#include <time.h>

#include "lib/base/workers.h"

/* Freed by the caller or the thread, whichever finishes last. */
struct call {
	void (*run)(void *ctx);
	void (*release)(void *ctx);
	void *ctx;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t ended;
	bool has_ended, is_left;
};

static void call_free(struct call *c)
{
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct call *call_new(void (*run)(void *ctx), void (*release)(void *ctx), void *ctx)
{
	struct call *c = xcalloc(1, sizeof(*c));

	c->run = run;
	c->release = release;
	c->ctx = ctx;
	pthread_mutex_init(&c->lock, NULL);
	thread_cond_init(&c->ended);
	return c;
}

static void *run_call(void *ctx)
{
	struct call *c = ctx;
	bool is_left;

	c->run(c->ctx);
	pthread_mutex_lock(&c->lock);
	c->has_ended = true;
	is_left = c->is_left;
	pthread_cond_signal(&c->ended);
	pthread_mutex_unlock(&c->lock);
	if (is_left) {
		c->release(c->ctx);
		call_free(c);
	}
	return NULL;
}

/* Waits for run() to return. On false, the thread frees the call. */
static bool wait_for_end(struct call *c, uint64_t limit_ns)
{
	struct timespec until;
	uint64_t end;
	int code = 0;

	/* The same clock as CLOCK_MONOTONIC, cheaper. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &until);
	end = (uint64_t)until.tv_nsec + limit_ns;
	until.tv_sec += (time_t)(end / 1000000000);
	until.tv_nsec = (long)(end % 1000000000);
	pthread_mutex_lock(&c->lock);
	while (!c->has_ended && !code)
		code = pthread_cond_timedwait(&c->ended, &c->lock, &until);
	c->is_left = !c->has_ended;
	code = c->is_left;
	pthread_mutex_unlock(&c->lock);
	return !code;
}

bool bounded_call(void (*run)(void *ctx), void (*release)(void *ctx), void *ctx, uint64_t limit_ns)
{
	struct call *c = call_new(run, release, ctx);
	pthread_t thread;

	if (thread_start(&thread, "prof-file", run_call, c)) {
		run(ctx);
	} else if (!wait_for_end(c, limit_ns)) {
		pthread_detach(thread);
		threads_leave();
		return false;
	} else {
		pthread_join(thread, NULL);
	}
	call_free(c);
	return true;
}
