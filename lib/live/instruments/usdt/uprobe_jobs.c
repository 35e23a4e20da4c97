/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/usdt/uprobe_jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"
#include "lib/base/vec.h"

/*
 * Detaching is waiting for the kernel, which several threads do at a time; but only one can with
 * perf events.
 */
#define THREADS_MAX 4

enum job_state {
	JOB_FREE,
	JOB_WAITS, /* to be attached */
	JOB_ATTACHING,
	JOB_ATTACHED,
	JOB_LEAVES, /* to be detached */
	JOB_DETACHING,
	JOB_ENDED, /* its owner does not know yet */
};

struct job {
	enum job_state state;
	bool is_given_up; /* by its owner */
	uint32_t pid;
	uint32_t link_count; /* counted against the limit */
	int file;
	const struct uprobe_place *places;
	size_t count;
	struct uprobe_links links;
};

struct uprobe_jobs {
	int program;
	uint32_t flags; /* of struct uprobe_target */
	bool is_stopped;
	bool is_freed; /* threads end once nothing is left to do */
	uint32_t links_max;
	pthread_mutex_t lock; /* guards all that follows, and the two flags above */
	pthread_cond_t changed;
	VEC(struct job) rows;
	struct uprobe_jobs_stats stats;
	pthread_t threads[THREADS_MAX];
	size_t thread_count;
};

static struct job *find(struct uprobe_jobs *j, enum job_state state)
{
	vec_for_each(&j->rows, struct job *, job) {
		if (job->state == state)
			return job;
	}
	return NULL;
}

static void end_job(struct uprobe_jobs *j, struct job *job)
{
	j->stats.links -= job->link_count;
	job->state = job->is_given_up ? JOB_FREE : JOB_ENDED;
}

/* Rows move while the lock is not held. */
static void attach(struct uprobe_jobs *j, struct job *job)
{
	const struct uprobe_target target = {
		.program = j->program,
		.flags = j->flags,
		.file = job->file,
		.pid = job->pid,
		.places = job->places,
		.count = job->count,
	};
	size_t row = (size_t)(job - j->rows.items);
	struct uprobe_links links = {0};
	struct error err = {0};
	int attached;

	job->state = JOB_ATTACHING;
	pthread_mutex_unlock(&j->lock);
	attached = uprobe_attach(&target, &links, &err);
	pthread_mutex_lock(&j->lock);
	job = &j->rows.items[row];
	job->links = links;
	job->state = job->is_given_up || attached <= 0 ? JOB_LEAVES : JOB_ATTACHED;
	j->stats.attached += attached > 0;
	/* Processes may end at any time. */
	if (attached == -ESRCH || attached == (int)target.count)
		return;
	j->stats.failed += target.count - (size_t)attached;
	if (!j->stats.failure.code)
		j->stats.failure = err;
}

static void detach(struct uprobe_jobs *j, struct job *job)
{
	size_t row = (size_t)(job - j->rows.items);
	struct uprobe_links links = job->links;

	job->state = JOB_DETACHING;
	job->links = (struct uprobe_links){0};
	pthread_mutex_unlock(&j->lock);
	uprobe_detach(&links);
	pthread_mutex_lock(&j->lock);
	end_job(j, &j->rows.items[row]);
}

/* Attaches first: what comes by a probe meanwhile is lost. */
static void *work(void *arg)
{
	struct uprobe_jobs *j = arg;
	struct job *job;

	pthread_mutex_lock(&j->lock);
	for (;;) {
		if ((job = find(j, JOB_WAITS))) {
			attach(j, job);
		} else if ((job = find(j, JOB_LEAVES))) {
			detach(j, job);
		} else if (j->is_freed) {
			break;
		} else {
			/* Tells nobody: threads that do so for nothing never rest. */
			pthread_cond_wait(&j->changed, &j->lock);
			continue;
		}
		pthread_cond_broadcast(&j->changed);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void start_threads(struct uprobe_jobs *j)
{
	size_t count = j->flags & UPROBE_IS_MULTI ? THREADS_MAX : 1;

	while (j->thread_count < count &&
	       thread_start(&j->threads[j->thread_count], "prof-uprobes", work, j) == 0)
		j->thread_count++;
}

/* Leaves descriptors for everything else. */
static uint32_t find_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 > UPROBE_LINKS_MAX)
		return UPROBE_LINKS_MAX;
	return (uint32_t)(limit.rlim_cur / 4);
}

struct uprobe_jobs *uprobe_jobs_new(int program, uint32_t flags)
{
	struct uprobe_jobs *j = xcalloc(1, sizeof(*j));

	j->program = program;
	j->flags = flags;
	j->links_max = find_limit();
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->changed, NULL);
	start_threads(j);
	return j;
}

static void leave(struct uprobe_jobs *j, struct job *job)
{
	job->is_given_up = true;
	if (job->state == JOB_WAITS)
		end_job(j, job);
	else if (job->state == JOB_ATTACHED)
		job->state = JOB_LEAVES;
	else if (job->state == JOB_ENDED)
		job->state = JOB_FREE;
}

void uprobe_jobs_stop(struct uprobe_jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->is_stopped = true;
	vec_for_each(&j->rows, struct job *, job)
		leave(j, job);
	while (j->thread_count && find(j, JOB_ATTACHING))
		pthread_cond_wait(&j->changed, &j->lock);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

void uprobe_jobs_free(struct uprobe_jobs *j)
{
	if (!j)
		return;
	uprobe_jobs_stop(j);
	pthread_mutex_lock(&j->lock);
	j->is_freed = true;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < j->thread_count; i++)
		pthread_join(j->threads[i], NULL);
	pthread_cond_destroy(&j->changed);
	pthread_mutex_destroy(&j->lock);
	vec_release(&j->rows);
	free(j);
}

static uprobe_job add(struct uprobe_jobs *j, const struct job *job)
{
	struct job *row = find(j, JOB_FREE);

	if (!row) {
		vec_push(&j->rows, *job);
		return (uprobe_job)(j->rows.count - 1);
	}
	*row = *job;
	return (uprobe_job)(row - j->rows.items);
}

uprobe_job uprobe_jobs_attach(struct uprobe_jobs *j, uint32_t pid, int file,
			      const struct uprobe_place *places, size_t count)
{
	const struct job job = {
		.state = JOB_WAITS,
		.pid = pid,
		.link_count = j->flags & UPROBE_IS_MULTI ? 1 : (uint32_t)count,
		.file = file,
		.places = places,
		.count = count,
	};
	uprobe_job added = NO_UPROBE_JOB;

	pthread_mutex_lock(&j->lock);
	if (!j->is_stopped && job.link_count <= j->links_max - j->stats.links) {
		j->stats.links += job.link_count;
		added = add(j, &job);
	}
	j->stats.left_out += added == NO_UPROBE_JOB && !j->is_stopped;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	return added;
}

void uprobe_jobs_detach(struct uprobe_jobs *j, uprobe_job job)
{
	pthread_mutex_lock(&j->lock);
	if (!j->is_stopped)
		leave(j, &j->rows.items[job]);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

void uprobe_jobs_wait(struct uprobe_jobs *j)
{
	pthread_mutex_lock(&j->lock);
	while (j->thread_count && (find(j, JOB_WAITS) || find(j, JOB_ATTACHING)))
		pthread_cond_wait(&j->changed, &j->lock);
	pthread_mutex_unlock(&j->lock);
}

void uprobe_jobs_get_stats(struct uprobe_jobs *j, struct uprobe_jobs_stats *stats)
{
	pthread_mutex_lock(&j->lock);
	*stats = j->stats;
	pthread_mutex_unlock(&j->lock);
}
