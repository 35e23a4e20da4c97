/* SPDX-License-Identifier: MIT */
/*
 * fork_exec PROGRAM: starts a child that renames itself to "only-forked" and burns in
 * forked_work(), and a child that executes PROGRAM, a copy of this one, with "executed", and burns
 * in executed_work(). Each of them, and the parent in parent_work(), uses 200 ms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

static NOINLINE void parent_work(void)
{
	burn_ms(200);
}

static NOINLINE void forked_work(void)
{
	burn_ms(200);
}

static NOINLINE void executed_work(void)
{
	burn_ms(200);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "executed") == 0) {
		executed_work();
		return 0;
	}

	if (fork() == 0) {
		prctl(PR_SET_NAME, "only-forked");
		forked_work();
		_exit(0);
	}
	if (fork() == 0) {
		execl(argv[1], argv[1], "executed", (char *)NULL);
		perror(argv[1]);
		_exit(127);
	}
	parent_work();

	int status, failed = 0;
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
