/* SPDX-License-Identifier: MIT */
#include "lib/base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

/* At this niceness, Linux grants nine times the CPU share of a normal thread. */
#define NICENESS (-10)
/* To setpriority(), 0 is the calling thread. */
#define SELF 0

void urgency_raise(void)
{
	if (getpriority(PRIO_PROCESS, SELF) == 0)
		setpriority(PRIO_PROCESS, SELF, NICENESS);
}

void urgency_lower(void)
{
	if (getpriority(PRIO_PROCESS, SELF) < 0)
		setpriority(PRIO_PROCESS, SELF, 0);
}

/* Time limit for joining a thread. */
#define JOIN_NS 500000000
/* Interval between two calls while a thread runs. */
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
	/* Naming the thread is optional. */
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

/* Notes that a thread was left behind: memory it may use must no longer be freed. */
static void threads_leave(void)
{
	__atomic_store_n(&are_left, true, __ATOMIC_RELAXED);
}

bool thread_join_soon(pthread_t thread)
{
	if (join_within(thread, JOIN_NS))
		return true;
	pthread_detach(thread);
	threads_leave();
	return false;
}

bool threads_are_left(void)
{
	return __atomic_load_n(&are_left, __ATOMIC_RELAXED);
}

/* More threads would only use more memory … */
#define MAX_THREADS 8u
/* … unless they are blocked. */
#define MAX_STILL_THREADS 64u
#define CHECK_NS 50000000ull
/* After this long without progress, jobs not yet begun get new threads. */
#define STILL_NS 250000000ull
/* Time limit for jobs to finish after WORKERS_HURRY. */
#define HURRY_NS 2000000000ull
/* Waiting itself uses up to this much CPU time. */
#define PROGRESS_CPU_NS 1000000ll

/* CPU time and context switches of all threads but the caller's, as signs of progress. */
struct pace {
	int64_t cpu_ns, switches; /* differences between consecutive readings */
};

struct pool {
	struct worker_jobs jobs;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t started; /* number of jobs begun, in starting order */
	size_t done;
	bool *is_done; /* by job */
	unsigned int threads; /* number of threads still in use */
	bool is_over; /* no further jobs are begun */
	bool is_abandoned; /* the last thread frees the structure */
	enum workers_wish wish;
	/* The members below are used only by the caller's thread. */
	struct pace pace;
	uint64_t progress_ns, checked_ns, hurry_ns; /* CLOCK_MONOTONIC times of the last progress,
						       the last check and the request to hurry */
};

static int64_t clock_ns(clockid_t id)
{
	struct timespec time = {0};

	clock_gettime(id, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static struct pace read_pace(void)
{
	struct rusage all = {0}, own = {0};

	getrusage(RUSAGE_THREAD, &own);
	getrusage(RUSAGE_SELF, &all);
	return (struct pace){
		.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID),
		.switches = all.ru_nvcsw - own.ru_nvcsw,
	};
}

static bool run_next(struct pool *pool)
{
	const struct worker_jobs *jobs = &pool->jobs;
	size_t job;

	if (pool->is_over || pool->started == jobs->count)
		return false;
	job = pool->started++;
	if (jobs->order)
		job = jobs->order[job];
	pthread_mutex_unlock(&pool->lock);
	jobs->run(jobs->ctx, job);
	pthread_mutex_lock(&pool->lock);
	pool->is_done[job] = true;
	pool->done++;
	pthread_cond_signal(&pool->changed);
	return true;
}

static void pool_free(struct pool *pool)
{
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool->is_done);
	free(pool);
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	bool is_last;

	pthread_mutex_lock(&pool->lock);
	while (run_next(pool))
		;
	pool->threads--;
	is_last = pool->is_abandoned && !pool->threads;
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	if (is_last)
		pool_free(pool);
	return NULL;
}

/* Call with the lock held. */
static void add_threads(struct pool *pool, unsigned int count, unsigned int max)
{
	pthread_t thread;

	while (count-- && pool->threads < max) {
		if (thread_start(&thread, "prof-worker", work, pool))
			return;
		pthread_detach(thread);
		pool->threads++;
	}
}

static bool is_watched(const struct pool *pool)
{
	return pool->jobs.stall_ns || pool->jobs.progress;
}

/* Call with the lock held. */
static void wait_a_moment(struct pool *pool)
{
	uint64_t end = clock_monotonic_ns() + CHECK_NS;
	struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};

	if (is_watched(pool))
		pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
	else
		pthread_cond_wait(&pool->changed, &pool->lock);
}

/* Calls progress() without holding the lock. */
static void report_progress(struct pool *pool, uint64_t now)
{
	size_t done = pool->done;
	enum workers_wish wish;

	if (!pool->jobs.progress)
		return;
	pthread_mutex_unlock(&pool->lock);
	wish = pool->jobs.progress(pool->jobs.ctx, done);
	pthread_mutex_lock(&pool->lock);
	pool->wish = MAX(pool->wish, wish);
	if (pool->wish == WORKERS_HURRY && !pool->hurry_ns)
		pool->hurry_ns = now;
}

static bool is_stalled(const struct pool *pool, uint64_t now)
{
	uint64_t still = now - pool->progress_ns;

	if (pool->wish == WORKERS_END)
		return true;
	if (pool->wish == WORKERS_HURRY && now - pool->hurry_ns >= HURRY_NS)
		return true;
	return pool->jobs.stall_ns && still >= pool->jobs.stall_ns;
}

/* Checks progress at intervals. Call with the lock held. */
static void watch(struct pool *pool)
{
	uint64_t now = clock_monotonic_ns();
	struct pace pace;

	if (!is_watched(pool) || now - pool->checked_ns < CHECK_NS)
		return;
	pool->checked_ns = now;
	pace = read_pace();
	if (pace.cpu_ns - pool->pace.cpu_ns >= PROGRESS_CPU_NS ||
	    pace.switches > pool->pace.switches) {
		pool->pace = pace;
		pool->progress_ns = now;
	} else if (now - pool->progress_ns >= STILL_NS && pool->started < pool->jobs.count) {
		add_threads(pool, MAX_STILL_THREADS, MAX_STILL_THREADS);
	}
	report_progress(pool, now);
	if (is_stalled(pool, now))
		pool->is_over = true;
}

static void take_all(struct pool *pool)
{
	const struct worker_jobs *jobs = &pool->jobs;

	for (size_t i = 0; i < jobs->count; i++) {
		while (!pool->is_done[i] && !pool->is_over) {
			/* If no thread could be started, run the job in this one. */
			if (pool->threads || !run_next(pool))
				wait_a_moment(pool);
			watch(pool);
		}
		if (!pool->is_done[i] && !jobs->abandon)
			continue;
		pthread_mutex_unlock(&pool->lock);
		if (pool->is_done[i])
			jobs->take(jobs->ctx, i);
		else
			jobs->abandon(jobs->ctx, i);
		pthread_mutex_lock(&pool->lock);
	}
}

/*
 * Waits for the threads, unless a job is abandoned. Call with the lock held. True if all have
 * ended.
 */
static bool end_threads(struct pool *pool)
{
	uint64_t end;
	bool was_stalled = pool->is_over;

	pool->is_over = true;
	end = clock_monotonic_ns() + CHECK_NS;
	while (pool->threads && (!was_stalled || clock_monotonic_ns() < end))
		wait_a_moment(pool);
	return !pool->threads;
}

unsigned int workers_default(void)
{
	cpu_set_t cpus;

	/* A machine with more CPUs than fit in the set has enough of them. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return MAX_THREADS;
	return (unsigned int)CPU_COUNT(&cpus);
}

static struct pool *pool_new(const struct worker_jobs *jobs)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));

	pool->jobs = *jobs;
	pool->is_done = xcalloc(jobs->count + 1, sizeof(*pool->is_done));
	pthread_mutex_init(&pool->lock, NULL);
	thread_cond_init(&pool->changed);
	pool->progress_ns = pool->checked_ns = clock_monotonic_ns();
	pool->pace = read_pace();
	return pool;
}

bool workers_run(const struct worker_jobs *jobs, unsigned int threads)
{
	struct pool *pool = pool_new(jobs);
	bool have_ended;

	if (threads > jobs->count)
		threads = (unsigned int)jobs->count;
	pthread_mutex_lock(&pool->lock);
	report_progress(pool, pool->checked_ns);
	add_threads(pool, threads, MAX_THREADS);
	take_all(pool);
	have_ended = end_threads(pool);
	pool->is_abandoned = !have_ended;
	pthread_mutex_unlock(&pool->lock);
	if (have_ended)
		pool_free(pool);
	else
		threads_leave();
	return have_ended;
}

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
