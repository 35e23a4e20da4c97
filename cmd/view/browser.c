/* SPDX-License-Identifier: MIT */
#include "cmd/view/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* In a session of its own: Ctrl-C here does not end it. Its child is left to init. */
static void start(const char *program, const char *page)
{
	pid_t pid = fork();
	sigset_t none;
	int null;

	if (pid) {
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return;
	}
	if (setsid() < 0 || fork())
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	execlp(program, program, page, (char *)NULL);
	_exit(127);
}

bool browser_open(struct browser *b, const char *url)
{
	*b = (struct browser){0};
	if (!is_set("BROWSER") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return false;
	if (!write_page(b, url)) {
		browser_release(b);
		return false;
	}
	start(is_set("BROWSER") ? getenv("BROWSER") : "xdg-open", b->page);
	return true;
}

void browser_release(struct browser *b)
{
	if (b->page)
		unlink(b->page);
	if (b->folder)
		rmdir(b->folder);
	free(b->page);
	free(b->folder);
	*b = (struct browser){0};
}
