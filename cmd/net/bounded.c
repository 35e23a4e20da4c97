/* SPDX-License-Identifier: MIT */
#include "cmd/net/bounded.h"

#include <pthread.h>
#include <time.h>

#include "lib/recording/workplace/naming.h"

/* Time limit without progress. Downloads run in another process, with a limit of 60 s. */
#define STILL_NS 10000000000ull
#define DOWNLOAD_STILL_NS 75000000000ull
/* Time limit while other work is stalled, probably for the same reason. */
#define IMPATIENT_NS 2000000000ull
#define CHECK_NS 1000000000ull
/*
 * Least CPU time of the process in CHECK_NS that counts as progress; waiting takes at most 0.5 %.
 */
#define PROGRESS_NS 10000000ull
#define STUCK_MAX 64

struct work {
	bounded_fn *fn, *free_ctx;
	void *ctx;
	bool is_done, is_abandoned;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int stuck, running;
static bool is_stopping;

static void *run(void *arg)
{
	struct work *work = arg;
	bool is_abandoned;

	work->fn(work->ctx);
	pthread_mutex_lock(&lock);
	is_abandoned = work->is_abandoned;
	work->is_done = true;
	running--;
	stuck -= is_abandoned;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (is_abandoned) {
		work->free_ctx(work->ctx);
		free(work);
	}
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static uint64_t patience_ns(void)
{
	if (naming_downloads())
		return DOWNLOAD_STILL_NS;
	return stuck ? IMPATIENT_NS : STILL_NS;
}

/* Call with the lock held. */
static void wait_a_little(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CHECK_NS / 1000000000;
	pthread_cond_timedwait(&changed, &lock, &until);
}

/* Returns true if the work has finished. Call with the lock held. */
static bool wait_for(const struct work *work)
{
	uint64_t now = clock_monotonic_ns(), since = now, checked = now, cpu = cpu_ns();

	while (!work->is_done && !is_stopping) {
		wait_a_little();
		now = clock_monotonic_ns();
		if (cpu_ns() - cpu >= PROGRESS_NS)
			since = now;
		else if (now - since >= patience_ns())
			break;
		if (now - checked >= CHECK_NS) {
			checked = now;
			cpu = cpu_ns();
		}
	}
	return work->is_done;
}

int bounded_run(bounded_fn *fn, bounded_fn *free_ctx, void *ctx, struct error *err)
{
	struct work *work = xcalloc(1, sizeof(*work));
	pthread_t thread;
	bool is_done;

	*work = (struct work){.fn = fn, .free_ctx = free_ctx, .ctx = ctx};
	pthread_mutex_lock(&lock);
	if (stuck >= STUCK_MAX || is_stopping || pthread_create(&thread, NULL, run, work)) {
		pthread_mutex_unlock(&lock);
		free(work);
		free_ctx(ctx);
		return error_text(err, -ETIMEDOUT, "a file system does not answer");
	}
	running++;
	pthread_detach(thread);
	is_done = wait_for(work);
	work->is_abandoned = !is_done;
	stuck += !is_done;
	pthread_mutex_unlock(&lock);
	if (!is_done)
		return error_text(err, -ETIMEDOUT, "a file system does not answer");
	free(work);
	return 0;
}

bool bounded_stop(void)
{
	bool is_running;

	pthread_mutex_lock(&lock);
	is_stopping = true;
	pthread_cond_broadcast(&changed);
	is_running = running;
	pthread_mutex_unlock(&lock);
	return is_running;
}
