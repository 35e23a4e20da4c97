/* SPDX-License-Identifier: MIT */
/*
 * Two threads that each hold a mutex and wait for the other's, forever: lock_first() waits in
 * thread "first", lock_second() in "second". Prints a line once both wait.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;

__attribute__((noinline)) static void lock_first(void)
{
	pthread_mutex_lock(&first);
	asm volatile("");
}

__attribute__((noinline)) static void lock_second(void)
{
	pthread_mutex_lock(&second);
	asm volatile("");
}

static void *first_thread(void *unused)
{
	pthread_setname_np(pthread_self(), "first");
	lock_second();
	pthread_barrier_wait(&both_hold);
	lock_first();
	return NULL;
}

static void *second_thread(void *unused)
{
	pthread_setname_np(pthread_self(), "second");
	lock_first();
	pthread_barrier_wait(&both_hold);
	lock_second();
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both_hold, NULL, 3);
	if (pthread_create(&threads[0], NULL, first_thread, NULL) ||
	    pthread_create(&threads[1], NULL, second_thread, NULL))
		return 1;
	pthread_barrier_wait(&both_hold);
	puts("both hold");
	fflush(stdout);
	pthread_join(threads[0], NULL);
	return 0;
}
