/* SPDX-License-Identifier: MIT */
#include "cmd/run/view_program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/run/neighbour_program.h"
#include "lib/base/alloc.h"

int view_program_run(int argc, char **argv)
{
	return neighbour_program_run(&program_view, argv[0], argc, argv);
}

void view_program_open(const char *path)
{
	/* A name that begins with '-' is no option. */
	char command[] = "view", *file = xasprintf("%s%s", *path == '-' ? "./" : "", path);
	char *argv[] = {command, file, NULL};
	void (*before)(int) = signal(SIGINT, SIG_IGN);
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		_exit(view_program_run(2, argv));
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, before);
	free(file);
}
