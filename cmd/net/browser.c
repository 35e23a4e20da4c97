/* SPDX-License-Identifier: MIT */
#include "cmd/net/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool write_page(struct browser *b, const char *url)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	_cleanup_fclose_ FILE *page = NULL;

	b->folder = xasprintf("%s/prof-view-XXXXXX", runtime && *runtime ? runtime
						     : tmp && *tmp	 ? tmp
									 : "/tmp");
	if (!mkdtemp(b->folder)) {
		free(b->folder);
		b->folder = NULL;
		return false;
	}
	b->page = xasprintf("%s/open.html", b->folder);
	page = fopen(b->page, "wxe");
	if (!page)
		return false;
	fprintf(page, "<!doctype html><meta charset=utf-8><title>prof view</title>"
		      "<meta http-equiv=refresh content=\"0;url=");
	for (; *url; url++)
		*url == '&' ? fputs("&amp;", page) : fputc(*url, page);
	fprintf(page, "\">\n");
	return true;
}

static const char *program_name(void)
{
	return is_set("BROWSER") ? getenv("BROWSER") : "xdg-open";
}

/* Looks where execlp() does. */
static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	while (path) {
		size_t size = strcspn(path, ":");
		_cleanup_free_ char *file = xasprintf("%.*s/%s", (int)size, path, program);

		if (access(file, X_OK) == 0)
			return true;
		path = path[size] ? path + size + 1 : NULL;
	}
	return false;
}

static void await_page(int from)
{
	const char *program = program_name();
	char page[PATH_MAX];
	ssize_t size = 0, got;

	while ((got = read(from, page + size, sizeof(page) - 1 - (size_t)size)) > 0)
		size += got;
	if (!size)
		return;
	page[size] = '\0';
	execlp(program, program, page, (char *)NULL);
}

/* In a session of its own: Ctrl-C here does not end it. Its parent is init. */
static void become_starter(int from)
{
	sigset_t none;
	int null;

	if (setsid() < 0 || fork())
		_exit(0);
	/* No files' modes give root's browser back what root has dropped. */
	if (!geteuid())
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	await_page(from);
	_exit(127);
}

void browser_prepare(struct browser *b)
{
	int ends[2];
	pid_t pid;

	if (!is_set("BROWSER") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return;
	b->is_missing = !is_installed(program_name());
	if (b->is_missing)
		return;
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		become_starter(ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return;
	}
	waitpid(pid, NULL, 0);
	b->starter = ends[1];
}

bool browser_open(struct browser *b, const char *url)
{
	size_t size;
	bool is_told;

	if (!b->starter)
		return false;
	if (!write_page(b, url)) {
		browser_release(b);
		return false;
	}
	size = strlen(b->page);
	is_told = size < PATH_MAX && write(b->starter, b->page, size) == (ssize_t)size;
	close(b->starter);
	b->starter = 0;
	return is_told;
}

void browser_release(struct browser *b)
{
	if (b->starter)
		close(b->starter);
	if (b->page)
		unlink(b->page);
	if (b->folder)
		rmdir(b->folder);
	free(b->page);
	free(b->folder);
	*b = (struct browser){0};
}
