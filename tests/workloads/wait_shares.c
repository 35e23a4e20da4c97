/* SPDX-License-Identifier: MIT */
/*
 *	wait_shares FILE ROUNDS
 *
 * Takes 3 ms in nap(), 3 ms in spin(), 2 ms in wait_for_lock() and 2 ms in read_disk(), by turns.
 * FILE is read past the kernel's cache; it is made if it is not there. Prints a line for each
 * function and one for all of the main thread, as print_spent().
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/workloads/spent.h"

#define BLOCK 65536
#define BLOCKS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held, is_free;
static int file;
static char *block;

static void sleep_ns(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

static NOINLINE void nap(void)
{
	sleep_ns(3000000);
	__asm__ volatile("");
}

static NOINLINE void spin(void)
{
	burn_ms(3);
}

static NOINLINE void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	__asm__ volatile("");
}

static NOINLINE void read_disk(void)
{
	long long end = wall_ns() + 2000000;

	do {
		if (pread(file, block, BLOCK, (off_t)BLOCK * (rand() % BLOCKS)) != BLOCK)
			exit(1);
	} while (wall_ns() < end);
}

static void *hold(void *unused)
{
	pthread_setname_np(pthread_self(), "holder");
	for (;;) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&is_held);
		sleep_ns(2000000);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&is_free);
	}
	return NULL;
}

static void open_file(const char *path)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC;

	if (posix_memalign((void **)&block, 4096, BLOCK))
		exit(1);
	memset(block, 1, BLOCK);
	file = open(path, flags, 0600);
	for (int i = 0; i < BLOCKS; i++) {
		if (file < 0 || pwrite(file, block, BLOCK, (off_t)BLOCK * i) != BLOCK) {
			perror(path);
			exit(1);
		}
	}
	fsync(file);
	close(file);
	file = open(path, flags | O_DIRECT, 0600);
	if (file < 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{"nap", nap},
		{"spin", spin},
		{"wait_for_lock", wait_for_lock},
		{"read_disk", read_disk},
	};
	struct spent sums[4] = {0}, all = {0}, begin;
	int schedstat = open_schedstat(), rounds = argc > 2 ? atoi(argv[2]) : 100;
	pthread_t thread;

	if (argc < 2)
		return 2;
	open_file(argv[1]);
	/* Timers that expire late make sleeps longer, at no cost to the test. */
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_barrier_init(&is_held, NULL, 2);
	pthread_barrier_init(&is_free, NULL, 2);
	if (pthread_create(&thread, NULL, hold, NULL))
		return 1;
	begin = spent_now(schedstat);
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&is_held);
		/* Waiting for the lock comes first: others would let its holder go. */
		for (int j = 0; j < 4; j++) {
			int part = (j + 2) % 4;
			struct spent start = spent_now(schedstat);

			parts[part].run();
			spent_since(&sums[part], schedstat, &start);
			if (part == 2) {
				pthread_mutex_unlock(&lock);
				pthread_barrier_wait(&is_free);
			}
		}
	}
	spent_since(&all, schedstat, &begin);
	for (int i = 0; i < 4; i++)
		print_spent(parts[i].name, &sums[i]);
	print_spent("main", &all);
	return 0;
}
