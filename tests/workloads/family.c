/* SPDX-License-Identifier: MIT */
/*
 * family: a process with a child that burns even before "ready" is printed, and another child for
 * each line of input. Names: "parent", "elder", "younger-0" …; all end with the parent, at the end
 * of input.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

static NOINLINE void elder_work(void)
{
	for (;;)
		burn_a_little();
}

static NOINLINE void younger_work(void)
{
	for (;;)
		burn_a_little();
}

static void make_child(const char *name, void (*work)(void))
{
	pid_t parent = getpid();

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent has ended already. */
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, name);
	work();
	_exit(0);
}

int main(void)
{
	char line[64], name[24];
	int count = 0;

	prctl(PR_SET_NAME, "parent");
	make_child("elder", elder_work);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		snprintf(name, sizeof(name), "younger-%d", count++);
		make_child(name, younger_work);
	}
	return 0;
}
