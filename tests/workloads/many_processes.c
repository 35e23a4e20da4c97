/* SPDX-License-Identifier: MIT */
/*
 * many_processes COUNT PER_SECOND PROGRAM: starts PROGRAM COUNT times by fork and exec, at that
 * rate, whether the previous one has ended or not, and prints the pid of each. Catches up at once
 * if a busy machine delays it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t launch(char *program)
{
	char *arguments[] = {program, NULL};
	pid_t pid = fork();

	if (pid == 0) {
		execv(program, arguments);
		_exit(127);
	}
	return pid;
}

static void add_ns(struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 0;
	int rate = argc > 3 ? atoi(argv[2]) : 0;
	struct timespec next;
	int status, failed = 0;

	if (count < 1 || rate < 1)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int i = 0; i < count; i++) {
		pid_t pid = launch(argv[3]);

		if (pid < 0)
			return 1;
		printf("%d\n", (int)pid);
		add_ns(&next, 1000000000 / rate);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		while (waitpid(-1, &status, WNOHANG) > 0)
			failed |= status != 0;
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
