/* SPDX-License-Identifier: MIT */
#include "cmd/run/child_programs.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/base/identity.h"
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

/* Default width, which fits into mails, logs and windows. */
#define COLUMNS 120

#define NOT_FOUND 127 /* exit status of a shell if the command is not found */

/* Width of the terminal on standard output, 0 if it is not a terminal. */
static size_t pager_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

size_t pager_columns(void)
{
	size_t width = pager_width();

	return width ? width : COLUMNS;
}

/* Returns NULL if no pager is wanted. */
static const char *find_pager(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");

	if (!pager_width() || !identity_of_invoker().is_self)
		return NULL;
	if (!term || strcmp(term, "dumb") == 0)
		return NULL;
	if (!pager)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static bool print_by(const char *pager, const char *text, size_t size)
{
	FILE *pipe;
	int status;

	setenv("LESS", "FRX", 0);
	pipe = popen(pager, "w");
	if (!pipe)
		return false;
	/* The user may quit before the end. */
	if (fwrite(text, 1, size, pipe) != size)
		clearerr(pipe);
	status = pclose(pipe);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND);
}

void pager_print(const char *text, size_t size)
{
	const char *pager = find_pager();
	void (*before)(int);
	bool is_printed = false;

	if (pager) {
		fflush(stdout);
		before = signal(SIGPIPE, SIG_IGN);
		is_printed = print_by(pager, text, size);
		signal(SIGPIPE, before);
	}
	if (!is_printed)
		fwrite(text, 1, size, stdout);
}
