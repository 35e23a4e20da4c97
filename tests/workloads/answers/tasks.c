/* SPDX-License-Identifier: MIT */
/*
 * Something for each question of tests/page/tasks.mjs: two phases of half a second, threads that
 * allocate and that idle, and a lock that one thread holds while others want it. With an argument,
 * waits for its input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static double begin;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void load_tables(void)
{
	while (now() < begin + 0.5)
		;
}

__attribute__((noinline)) static void solve_rows(void)
{
	while (now() < begin + 1)
		;
}

__attribute__((noinline)) static void refresh_cache(void)
{
	pthread_mutex_lock(&cache_lock);
	usleep(300000);
	pthread_mutex_unlock(&cache_lock);
}

__attribute__((noinline)) static void find_value(void)
{
	pthread_mutex_lock(&cache_lock);
	pthread_mutex_unlock(&cache_lock);
}

static void *keep(void *unused)
{
	pthread_setname_np(pthread_self(), "keeper");
	refresh_cache();
	return unused;
}

static void *use(void *unused)
{
	pthread_setname_np(pthread_self(), "user");
	usleep(100000);
	find_value();
	return unused;
}

static void *fill(void *blocks)
{
	pthread_setname_np(pthread_self(), blocks ? "reader" : "parser");
	for (int i = 0; i < (blocks ? 2000 : 200); i++)
		memset(malloc(10000), 1, 10000);
	return NULL;
}

static void *idle(void *unused)
{
	pthread_setname_np(pthread_self(), "idler");
	usleep(1000000);
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const roles[])(void *) = {keep, use, fill, fill, idle, idle, idle};
	pthread_t threads[sizeof(roles) / sizeof(*roles)];
	char byte;

	if (argc > 1)
		return read(STDIN_FILENO, &byte, 1) < 0;
	begin = now();
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		pthread_create(&threads[i], NULL, roles[i], i == 2 ? argv : NULL);
	load_tables();
	solve_rows();
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		pthread_join(threads[i], NULL);
	return 0;
}
