/* SPDX-License-Identifier: MIT */
/* Asks all the time whether another thread is done, and gives up its CPU in between. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int ready;

static void *produce(void *arg)
{
	usleep(700000);
	ready = 1;
	return arg;
}

static void __attribute__((noinline)) wait_until_ready(void)
{
	while (!ready)
		sched_yield();
}

int main(void)
{
	pthread_t producer;

	pthread_create(&producer, NULL, produce, NULL);
	wait_until_ready();
	pthread_join(producer, NULL);
	return 0;
}
