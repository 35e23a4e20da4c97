/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for ever in functions of the C library. Those of pools wait for work, in
 * functions that are called like those of well-known pools: "pool_cond", "pool_timed", "pool_sem",
 * "pool_call". The others are held up: "pool_mutex", "own_cond", "own_sem", "own_join",
 * "own_mutex", "own_rwlock". Prints a line once all wait, then waits itself.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
/* Keeps the call before it from being the function's last, and functions from being alike. */
#define STAY asm volatile("# %c0" : : "i"(__LINE__))

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t held_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t main_thread;

struct condition {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
};

#define CONDITION \
	{ \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER \
	}

NOINLINE static void uv_cond_wait(void)
{
	static struct condition work = CONDITION;

	pthread_mutex_lock(&work.mutex);
	for (;;)
		pthread_cond_wait(&work.cond, &work.mutex);
}

NOINLINE static void uv_cond_timedwait(void)
{
	static struct condition work = CONDITION;
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 3600;
	pthread_mutex_lock(&work.mutex);
	for (;;)
		pthread_cond_timedwait(&work.cond, &work.mutex, &end);
}

NOINLINE static void uv_sem_wait(void)
{
	static sem_t work;

	for (;;)
		sem_wait(&work);
}

NOINLINE static void g_cond_wait(void)
{
	static unsigned int work;

	for (;;)
		syscall(SYS_futex, &work, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

NOINLINE static void worker(void)
{
	uv_cond_wait();
	STAY;
}

NOINLINE static void g_thread_pool_wait_for_new_task(void)
{
	uv_cond_timedwait();
	STAY;
}

NOINLINE static void g_async_queue_pop(void)
{
	uv_sem_wait();
	STAY;
}

NOINLINE static void g_async_queue_pop_unlocked(void)
{
	g_cond_wait();
	STAY;
}

NOINLINE static void gomp_thread_start(void)
{
	pthread_mutex_lock(&held_mutex);
	STAY;
}

NOINLINE static void own_cond(void)
{
	static struct condition own = CONDITION;

	pthread_mutex_lock(&own.mutex);
	for (;;)
		pthread_cond_wait(&own.cond, &own.mutex);
}

NOINLINE static void own_sem(void)
{
	static sem_t own;

	for (;;)
		sem_wait(&own);
}

NOINLINE static void own_join(void)
{
	pthread_join(main_thread, NULL);
	STAY;
}

NOINLINE static void own_mutex(void)
{
	pthread_mutex_lock(&held_mutex);
	STAY;
}

NOINLINE static void own_rwlock(void)
{
	pthread_rwlock_wrlock(&held_rwlock);
	STAY;
}

static struct {
	const char *name;
	void (*run)(void);
	volatile pid_t tid; /* 0: not known yet */
} rows[] = {
	{"pool_cond", worker, 0},
	{"pool_timed", g_thread_pool_wait_for_new_task, 0},
	{"pool_sem", g_async_queue_pop, 0},
	{"pool_call", g_async_queue_pop_unlocked, 0},
	{"pool_mutex", gomp_thread_start, 0},
	{"own_cond", own_cond, 0},
	{"own_sem", own_sem, 0},
	{"own_join", own_join, 0},
	{"own_mutex", own_mutex, 0},
	{"own_rwlock", own_rwlock, 0},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static void *start(void *row)
{
	size_t i = (size_t)row;

	pthread_setname_np(pthread_self(), rows[i].name);
	rows[i].tid = (pid_t)syscall(SYS_gettid);
	rows[i].run();
	return NULL;
}

static int is_waiting(pid_t tid)
{
	char path[64], line[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = tid ? fopen(path, "r") : NULL;
	if (!file)
		return 0;
	/* Or "running". */
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	return *line >= '0' && *line <= '9' && strtol(line, NULL, 10) == SYS_futex;
}

int main(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	pthread_mutex_lock(&held_mutex);
	pthread_rwlock_wrlock(&held_rwlock);
	for (size_t i = 0; i < ROWS; i++) {
		if (pthread_create(&thread, NULL, start, (void *)i))
			return 1;
	}
	for (size_t i = 0; i < ROWS; i++) {
		while (!is_waiting(rows[i].tid))
			usleep(1000);
	}
	puts("all wait");
	fflush(stdout);
	for (;;)
		pause();
}
