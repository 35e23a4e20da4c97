/* SPDX-License-Identifier: MIT */
/*
 * Programs whose critical path is known. All work is CPU time, so that it is the same on a loaded
 * machine.
 *
 *	path_shapes pipeline	three processes; the middle one takes longest
 *	path_shapes convoy	two threads that hold a lock most of the time
 *	path_shapes build	jobs of different length side by side, then one alone
 *	path_shapes barrier N	two threads with N stages of random length; prints, in ms, the sum
 *of those that ended last, and the part of it in the first thread
 *	path_shapes requests	asks a thread, which also has work of its own; tells each request as
 *a span "request" path_shapes naps N	two threads, each woken by the other while it falls asleep
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 100
#define ROUNDS 60
#define STAGES_MAX 1000
#define REQUESTS 30

static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline __attribute__((always_inline)) void burn(uint64_t us)
{
	uint64_t end = cpu_us() + us;

	while (cpu_us() < end) {
		for (volatile int i = 0; i < 2000; i++)
			;
	}
}

#define WORK(name) \
	static __attribute__((noipa)) void name(uint64_t us) \
	{ \
		burn(us); \
	}

WORK(parse)
WORK(transform)
WORK(format)
WORK(update_shared)
WORK(work_alone)
WORK(compile_small)
WORK(compile_large)
WORK(link_all)
WORK(stage)

static void move(int from, int to, void (*work)(uint64_t), uint64_t us)
{
	char block[4096];

	for (int i = 0; i < BLOCKS; i++) {
		memset(block, 0, sizeof(block));
		for (size_t got = 0; from >= 0 && got < sizeof(block);) {
			ssize_t n = read(from, block + got, sizeof(block) - got);

			if (n <= 0)
				_exit(1);
			got += (size_t)n;
		}
		work(us);
		if (to >= 0 && write(to, block, sizeof(block)) != sizeof(block))
			_exit(1);
	}
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

static void pipeline(void)
{
	int one[2], two[2];

	if (pipe(one) || pipe(two))
		exit(1);
	if (!fork()) {
		move(-1, one[1], parse, 500);
		_exit(0);
	}
	if (!fork()) {
		move(one[0], two[1], transform, 3000);
		_exit(0);
	}
	if (!fork()) {
		move(two[0], -1, format, 700);
		_exit(0);
	}
	wait_all();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *update(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		update_shared(4000);
		pthread_mutex_unlock(&mutex);
		work_alone(1000);
	}
	return NULL;
}

static void convoy(void)
{
	pthread_t other;

	pthread_create(&other, NULL, update, NULL);
	update(NULL);
	pthread_join(other, NULL);
}

static void build(void)
{
	if (!fork()) {
		compile_small(100000);
		_exit(0);
	}
	if (!fork()) {
		compile_large(400000);
		_exit(0);
	}
	wait_all();
	link_all(200000);
}

static unsigned int stages;
static uint64_t lengths[2][STAGES_MAX];
static pthread_barrier_t barrier;
static unsigned int arrived[STAGES_MAX];
static uint64_t *last[STAGES_MAX]; /* times of the thread that ended the stage */

static void *run_stages(void *number)
{
	uint64_t *own = number;

	for (unsigned int i = 0; i < stages; i++) {
		uint64_t begun = cpu_us();

		stage(own[i]);
		/* On a busy machine, it may be the shorter one. */
		if (__atomic_fetch_add(&arrived[i], 1, __ATOMIC_RELAXED))
			last[i] = own;
		pthread_barrier_wait(&barrier);
		/* With the system calls by which it lets the other one go on. */
		own[i] = cpu_us() - begun;
	}
	return NULL;
}

static void run_barrier(void)
{
	uint64_t sum = 0, first = 0;
	pthread_t other;

	for (unsigned int i = 0; i < stages; i++) {
		lengths[0][i] = 1000 + (uint64_t)random() % 8000;
		lengths[1][i] = 1000 + (uint64_t)random() % 8000;
	}
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, run_stages, lengths[1]);
	pthread_setname_np(other, "second");
	run_stages(lengths[0]);
	pthread_join(other, NULL);
	for (unsigned int i = 0; i < stages; i++) {
		sum += last[i][i];
		first += last[i] == lengths[0] ? last[i][i] : 0;
	}
	printf("%.3f %.3f\n", (double)sum / 1000, (double)first / 1000);
}

static unsigned int word;

static long futex(int operation, unsigned int value)
{
	return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/*
 * One thread falls asleep, and the other rouses it at once: while it is still leaving its
 * CPU.
 */
static void *nap_and_rouse(void *is_second)
{
	for (unsigned int i = 0; i < stages; i++) {
		if ((i % 2 == 0) == (is_second != NULL)) {
			while (futex(FUTEX_WAIT, 0) != 0)
				;
		} else {
			for (int tries = 0; futex(FUTEX_WAKE, 1) != 1; tries++) {
				if (tries > 1000)
					sched_yield();
			}
		}
	}
	return NULL;
}

static void nap(void)
{
	pthread_t other;

	pthread_create(&other, NULL, nap_and_rouse, &word);
	nap_and_rouse(NULL);
	pthread_join(other, NULL);
}

static FILE *open_markers(void)
{
	const char *folder = getenv("PROF_MARKERS");
	char path[4096];
	FILE *markers;

	snprintf(path, sizeof(path), "%s/marker-%d.txt", folder ? folder : "/tmp", getpid());
	markers = fopen(path, "w+");
	if (!markers)
		exit(1);
	mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(markers), 0);
	return markers;
}

static int asked[2], answered[2];

static void pass_on(int end, bool is_asking)
{
	char byte = 0;

	if ((is_asking ? write(end, &byte, 1) : read(end, &byte, 1)) != 1)
		exit(1);
}

static void *serve(void *unused)
{
	for (int i = 0; i < REQUESTS; i++) {
		pass_on(asked[0], false);
		transform(5000);
		pass_on(answered[1], true);
		update_shared(8000);
	}
	return unused;
}

static unsigned long long wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void request(void)
{
	FILE *markers = open_markers();
	pthread_t server;

	if (pipe(asked) || pipe(answered))
		exit(1);
	pthread_create(&server, NULL, serve, NULL);
	for (int i = 0; i < REQUESTS; i++) {
		unsigned long long begin = wall_ns();

		parse(3000);
		pass_on(asked[1], true);
		pass_on(answered[0], false);
		fprintf(markers, "%llu %llu request\n", begin, wall_ns());
		format(1000);
	}
	pthread_join(server, NULL);
	fclose(markers);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";

	stages = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	if (strcmp(shape, "pipeline") == 0)
		pipeline();
	else if (strcmp(shape, "convoy") == 0)
		convoy();
	else if (strcmp(shape, "build") == 0)
		build();
	else if (strcmp(shape, "barrier") == 0 && stages && stages <= STAGES_MAX)
		run_barrier();
	else if (strcmp(shape, "requests") == 0)
		request();
	else if (strcmp(shape, "naps") == 0)
		nap();
	else
		return 2;
	return 0;
}
