/* SPDX-License-Identifier: MIT */
/*
 * Measures what functions of a thread take, by the kernel's own accounts: time, CPU time, and time
 * in which the thread was queued for a CPU.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

/* ns */
struct spent {
	long long wall, cpu, queued;
	long long calls;
};

/* Returns a descriptor of the accounts of the calling thread. */
static int open_schedstat(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror("/proc/thread-self/schedstat");
		exit(1);
	}
	return fd;
}

/* Returns the thread's run delay. ran, unless NULL, gets its CPU time until it ran last. */
static long long read_schedstat(int fd, long long *ran)
{
	long long times[2] = {0};
	char text[128] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%lld %lld", &times[0], &times[1]) != 2)
		exit(1);
	if (ran)
		*ran = times[0];
	return times[1];
}

static long long wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Reads again if the thread was preempted meanwhile: the three must be of one moment. */
static struct spent spent_now(int schedstat)
{
	struct spent now;
	long long before;

	do {
		before = read_schedstat(schedstat, NULL);
		now.wall = wall_ns();
		now.cpu = (long long)thread_cpu_ns();
		now.queued = read_schedstat(schedstat, NULL);
	} while (now.queued != before);
	return now;
}

static void spent_since(struct spent *sum, int schedstat, const struct spent *start)
{
	const struct spent now = spent_now(schedstat);

	sum->wall += now.wall - start->wall;
	sum->cpu += now.cpu - start->cpu;
	sum->queued += now.queued - start->queued;
	sum->calls++;
}

static void print_spent(const char *name, const struct spent *spent)
{
	printf("%s %lld %lld %lld %lld\n", name, spent->wall, spent->cpu, spent->queued,
	       spent->calls);
}
