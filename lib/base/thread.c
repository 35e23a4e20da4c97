/* SPDX-License-Identifier: MIT */
#include "lib/base/thread.h"

#include <signal.h>
#include <time.h>

#include "lib/base/urgency.h"

/* Time for a thread to end that was told to. */
#define JOIN_NS 500000000
/* Between two calls while a thread runs. */
#define BESIDE_NS 20000000

static bool are_left;

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(thread, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Without a name it works as well. */
	if (!code)
		pthread_setname_np(*thread, name);
	return code;
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

static bool join_within(pthread_t thread, long limit_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += limit_ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

struct beside {
	void (*run)(void *ctx);
	void *ctx;
};

static void *run_beside(void *ctx)
{
	const struct beside *b = ctx;

	urgency_lower();
	b->run(b->ctx);
	return NULL;
}

void thread_run_beside(const char *name, void (*run)(void *ctx), void *ctx,
		       void (*meanwhile)(void *arg), void *arg)
{
	struct beside beside = {run, ctx};
	pthread_t thread;

	if (thread_start(&thread, name, run_beside, &beside)) {
		run(ctx);
		return;
	}
	while (!join_within(thread, BESIDE_NS))
		meanwhile(arg);
}

bool thread_join_soon(pthread_t thread)
{
	if (join_within(thread, JOIN_NS))
		return true;
	pthread_detach(thread);
	threads_leave();
	return false;
}

void threads_leave(void)
{
	__atomic_store_n(&are_left, true, __ATOMIC_RELAXED);
}

bool threads_are_left(void)
{
	return __atomic_load_n(&are_left, __ATOMIC_RELAXED);
}
