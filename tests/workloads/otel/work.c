/* SPDX-License-Identifier: MIT */
/*
 * Works in spans and outside of them, in two threads:
 *
 *	work LIBRARY MILLISECONDS
 *
 * "-": the program has the contexts itself. The second thread begins before the library is there,
 * and first works without its variables.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void (*enter)(int byte), (*leave)(int keep);
static long each_ms;
static pthread_barrier_t loaded;

static __attribute__((noinline)) void burn(void)
{
	struct timespec now;
	long end = 0, at;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = now.tv_sec * 1000 + now.tv_nsec / 1000000;
		end = end ? end : at + each_ms;
	} while (at < end);
}

/* Tail calls would hide them. */
#define WORK(name) \
	static __attribute__((noinline)) void name(void) \
	{ \
		burn(); \
		__asm__ volatile(""); \
	}

WORK(before_all)
WORK(in_first)
WORK(in_second)
WORK(between)
WORK(after_all)

static void work(int byte)
{
	/* The recorder finds the library meanwhile. */
	for (int round = 0; round < 4; round++) {
		enter(byte);
		in_first();
		leave(0);
		between();
		enter(byte + 0x40);
		in_second();
		leave(1);
		after_all();
	}
}

static void *run(void *arg)
{
	pthread_barrier_wait(&loaded);
	before_all();
	work(0x21);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int (*publish)(void);
	void *library;

	if (argc != 3)
		return 2;
	each_ms = atol(argv[2]);
	pthread_barrier_init(&loaded, NULL, 2);
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	library = dlopen(strcmp(argv[1], "-") ? argv[1] : NULL, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	enter = (void (*)(int))dlsym(library, "context_enter");
	leave = (void (*)(int))dlsym(library, "context_leave");
	publish = (int (*)(void))dlsym(library, "context_publish");
	if (!enter || !leave || !publish || publish())
		return 1;
	before_all();
	pthread_barrier_wait(&loaded);
	work(0x11);
	pthread_join(thread, NULL);
	return 0;
}
