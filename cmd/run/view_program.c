/* SPDX-License-Identifier: MIT */
#include "cmd/run/view_program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/neighbour.h"

static const char program[] = "prof-view";

int view_program_run(int argc, char **argv)
{
	_cleanup_free_ char *path = neighbour_path(program);
	_cleanup_free_ char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	struct error err = {0};

	args[0] = (char *)program;
	for (int i = 0; i < argc; i++)
		args[i + 1] = argv[i];
	if (path)
		execv(path, args);
	error_set(&err, path ? -errno : -ENOENT, "start %s", path ? path : program);
	error_hint(&err, "it is built where libmicrohttpd and libcurl are: scripts/deps, make");
	return command_fail(argv[0], EXIT_REFUSED, &err);
}

bool view_program_is_installed(void)
{
	_cleanup_free_ char *path = neighbour_path(program);

	return path && access(path, X_OK) == 0;
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
