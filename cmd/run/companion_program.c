/* SPDX-License-Identifier: MIT */
#include "cmd/run/companion_program.h"

#include <signal.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/base/program.h"

const struct companion_program program_browse = {"prof-browse", "ncurses is"};
const struct companion_program program_view = {"prof-view", "libmicrohttpd and libcurl are"};

bool companion_program_is_installed(const struct companion_program *p)
{
	_cleanup_free_ char *path = companion_path(p->name);

	return path && access(path, X_OK) == 0;
}

int companion_program_run(const struct companion_program *p, const char *command, int argc,
			  char **argv)
{
	_cleanup_free_ char *path = companion_path(p->name);
	_cleanup_free_ char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	struct error err = {0};

	args[0] = (char *)p->name;
	for (int i = 0; i < argc; i++)
		args[i + 1] = argv[i];
	if (path)
		execv(path, args);
	error_set(&err, path ? -errno : -ENOENT, "cannot start %s", path ? path : p->name);
	error_hint(&err, "it is built only where %s: run scripts/deps, then make", p->needs);
	return command_fail(command, EXIT_REFUSED, &err);
}

int view_program_run(int argc, char **argv)
{
	return companion_program_run(&program_view, argv[0], argc, argv);
}

void view_program_open(const char *path)
{
	/* Keep a name that begins with '-' from being taken for an option. */
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
