/* SPDX-License-Identifier: MIT */
/*
 * task_loops threads|programs|mappings: reads counts from stdin, makes as many times four threads
 * at once, a process that executes a program, or an executable mapping, and answers with the CPU
 * time that they took, in ns.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096 /* or part of one */

static char *own_path;
static int own_fd;

static long long spent_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ll +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ll;
}

static long long cpu_ns(void)
{
	return spent_ns(RUSAGE_SELF) + spent_ns(RUSAGE_CHILDREN);
}

static void *compute(void *unused)
{
	for (volatile unsigned int i = 0; i < 10000; i = i + 1)
		;
	return NULL;
}

static int make_threads(void)
{
	pthread_t threads[4];
	int failed = 0;

	for (int i = 0; i < 4; i++)
		failed |= pthread_create(&threads[i], NULL, compute, NULL);
	for (int i = 0; i < 4 && !failed; i++)
		failed |= pthread_join(threads[i], NULL);
	return failed;
}

static int make_program(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(own_path, own_path, "nothing", (char *)NULL);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int make_mapping(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, own_fd, 0);

	return page == MAP_FAILED || munmap(page, PAGE);
}

int main(int argc, char **argv)
{
	int (*make)(void) = make_mapping;
	long count;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "nothing") == 0)
		return 0;
	if (strcmp(argv[1], "threads") == 0)
		make = make_threads;
	if (strcmp(argv[1], "programs") == 0)
		make = make_program;
	own_path = argv[0];
	own_fd = open(own_path, O_RDONLY | O_CLOEXEC);
	while (scanf("%ld", &count) == 1) {
		long long start = cpu_ns();

		for (long i = 0; i < count; i++) {
			if (make())
				return 1;
		}
		printf("%lld\n", cpu_ns() - start);
		fflush(stdout);
	}
	return 0;
}
