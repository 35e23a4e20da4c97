/* SPDX-License-Identifier: MIT */
#include "symbolize/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"

/* More threads would only multiply the memory. */
#define MAX_THREADS 8u

struct pool {
	const struct worker_jobs *jobs;
	pthread_mutex_t lock;
	pthread_cond_t done;
	size_t started; /* in jobs->order */
	bool *is_done; /* by job */
};

static bool run_next(struct pool *pool)
{
	const struct worker_jobs *jobs = pool->jobs;
	size_t job;

	if (pool->started == jobs->count)
		return false;
	job = jobs->order[pool->started++];
	pthread_mutex_unlock(&pool->lock);
	jobs->run(jobs->ctx, job);
	pthread_mutex_lock(&pool->lock);
	pool->is_done[job] = true;
	pthread_cond_signal(&pool->done);
	return true;
}

static void *work(void *arg)
{
	struct pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (run_next(pool))
		;
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Runs jobs itself while the next job to take is not done. */
static void take_all(struct pool *pool)
{
	const struct worker_jobs *jobs = pool->jobs;

	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < jobs->count; i++) {
		while (!pool->is_done[i]) {
			if (!run_next(pool))
				pthread_cond_wait(&pool->done, &pool->lock);
		}
		pthread_mutex_unlock(&pool->lock);
		jobs->take(jobs->ctx, i);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

unsigned int workers_default(void)
{
	cpu_set_t cpus;

	/* A machine with more CPUs than the set has room for has enough of them. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return MAX_THREADS;
	return (unsigned int)CPU_COUNT(&cpus);
}

void workers_run(const struct worker_jobs *jobs, unsigned int threads)
{
	struct pool pool = {
		.jobs = jobs,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER,
		.is_done = xcalloc(jobs->count + 1, sizeof(*pool.is_done)),
	};
	pthread_t ids[MAX_THREADS];
	unsigned int count = 0;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	if (threads > jobs->count)
		threads = (unsigned int)jobs->count;
	/* The caller's thread is one of the workers. */
	while (count + 1 < threads && thread_start(&ids[count], "prof-names", work, &pool) == 0)
		count++;
	take_all(&pool);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	pthread_cond_destroy(&pool.done);
	pthread_mutex_destroy(&pool.lock);
	free(pool.is_done);
}
