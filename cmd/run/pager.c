/* SPDX-License-Identifier: MIT */
#include "cmd/run/pager.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "lib/base/identity.h"

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
