/* SPDX-License-Identifier: MIT */
#include "cmd/run/window_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/base/program.h"
#include "lib/fleet/request_process.h"

/* Descriptors that stay open. */
enum { CAPTURE_FD = STDERR_FILENO + 1, JOBS_FD, FIRST_FREE_FD };
/* Delay before a restart. */
#define RESTART_US 200000
/* Maximum number of failures, beyond which all processes are assumed to be broken. */
#define FAILURES_MAX 20

static const char program[] = "prof-view";

struct pusher_process {
	const char *url;
	char *spool; /* spool folder; "": none */
	int outer, inner; /* both ends of the socket */
	pid_t pid; /* 0: not running */
};

struct guard {
	struct window_converter *converter;
	VEC(struct pusher_process) pushers;
	pid_t converter_pid; /* 0: has ended */
	char host[256];
	bool is_unsent, is_waiting; /* a pusher ended with windows unsent, or waiting */
	unsigned int failures;
};

/* Returns the engine's own folder. */
static char *spool_of(const char *dir, const char *url)
{
	return dir ? xasprintf("%s/%016" PRIx64, dir, hash_bytes(url, strlen(url), 0))
		   : xstrdup("");
}

/*
 * Returns a descriptor from which a pusher reads its settings, a negative errno on failure:
 * arguments would show addresses and names to all users of this machine.
 */
static int settings_of(const struct guard *g, const struct pusher_process *pusher)
{
	const struct push_options *o = g->converter->push;
	_cleanup_free_ char *series = xasprintf("%" PRIu32, o->max_series);
	_cleanup_free_ char *first_ns = xasprintf("%" PRIu64, o->retry_ns);
	_cleanup_close_ int memory = memfd_create("settings", MFD_CLOEXEC);
	int fd = memory < 0 ? -1 : fcntl(memory, F_DUPFD, FIRST_FREE_FD);
	bool is_written = fd >= 0 && request_write_text(fd, pusher->url) &&
			  request_write_text(fd, pusher->spool) &&
			  request_write_text(fd, first_ns) &&
			  request_write_text(fd, o->host ? o->host : g->host) &&
			  request_write_text(fd, o->service) &&
			  request_write_text(fd, o->fallback) && request_write_text(fd, series);

	for (size_t i = 0; i < o->labels.count; i++)
		is_written = is_written && request_write_text(fd, o->labels.items[i]);
	return is_written && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static void exec_pusher(const struct guard *g, const struct pusher_process *pusher)
{
	_cleanup_free_ char *path = companion_path(program);
	int settings = settings_of(g, pusher);
	_cleanup_free_ char *socket = xasprintf("%d", fcntl(pusher->inner, F_DUPFD, FIRST_FREE_FD));
	_cleanup_free_ char *fd = xasprintf("%d", settings);
	const char *const argv[] = {program, PUSH_PROCESS, socket, fd, NULL};
	struct error err = {0};

	if (path && settings >= 0)
		execv(path, (char *const *)argv);
	error_set(&err, path ? -errno : -ENOENT, "cannot start %s", program);
	error_hint(&err, "it is built only where libmicrohttpd and libcurl are installed: run "
			 "scripts/deps, then make");
	_exit(command_fail("push", EXIT_REFUSED, &err));
}

static void start_pusher(struct guard *g, struct pusher_process *pusher)
{
	pusher->pid = fork();
	if (pusher->pid == 0)
		exec_pusher(g, pusher);
	if (pusher->pid < 0)
		pusher->pid = 0;
}

static void start_converter(struct guard *g)
{
	pid_t guard = getpid();

	g->converter_pid = fork();
	if (g->converter_pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(EXIT_REFUSED);
	vec_for_each(&g->pushers, const struct pusher_process *, pusher)
		close(pusher->inner);
	_exit(window_converter_run(g->converter));
}

/* Delays the restart after an unexpected end. Exits after too many failures. */
static void pause_after(struct guard *g, int status)
{
	if (WIFEXITED(status) && ++g->failures > FAILURES_MAX)
		_exit(EXIT_REFUSED);
	usleep(RESTART_US);
}

/* Closes the sockets, from which the pushers notice the end. */
static void close_sockets(struct guard *g)
{
	vec_for_each(&g->pushers, struct pusher_process *, pusher) {
		close(pusher->outer);
		close(pusher->inner);
	}
}

static bool has_exited_with(int status, int wanted)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == wanted;
}

static void on_converter_end(struct guard *g, int status)
{
	g->converter_pid = 0;
	if (has_exited_with(status, 0)) {
		close_sockets(g);
		return;
	}
	pause_after(g, status);
	start_converter(g);
}

static void on_pusher_end(struct guard *g, struct pusher_process *pusher, int status)
{
	pusher->pid = 0;
	g->is_unsent |= has_exited_with(status, WINDOW_GUARD_UNSENT);
	g->is_waiting |= has_exited_with(status, WINDOW_GUARD_WAITING);
	if (!g->converter_pid || has_exited_with(status, 0))
		return;
	pause_after(g, status);
	start_pusher(g, pusher);
}

static void supervise(struct guard *g)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (pid <= 0)
			continue;
		if (pid == g->converter_pid)
			on_converter_end(g, status);
		vec_for_each(&g->pushers, struct pusher_process *, pusher) {
			if (pid == pusher->pid)
				on_pusher_end(g, pusher, status);
		}
	}
}

static void keep_descriptors(struct window_converter *n)
{
	int capture = fcntl(n->capture, F_DUPFD, FIRST_FREE_FD);
	int jobs = fcntl(n->jobs, F_DUPFD, FIRST_FREE_FD);

	dup3(capture, CAPTURE_FD, O_CLOEXEC);
	dup3(jobs, JOBS_FD, O_CLOEXEC);
	n->capture = CAPTURE_FD;
	n->jobs = JOBS_FD;
	syscall(SYS_close_range, FIRST_FREE_FD, ~0u, 0);
}

void window_guard_run(struct window_converter *n)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
	struct guard g = {.converter = n};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	keep_descriptors(n);
	gethostname(g.host, sizeof(g.host) - 1);
	n->memory = mmap(NULL, sizeof(*n->memory), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n->memory == MAP_FAILED)
		_exit(EXIT_REFUSED);
	for (size_t i = 0; i < n->push->urls.count; i++) {
		struct pusher_process pusher = {.url = n->push->urls.items[i]};
		int ends[2];

		if (window_pipe_new(ends))
			_exit(EXIT_REFUSED);
		pusher.outer = ends[0];
		pusher.inner = ends[1];
		pusher.spool = spool_of(n->push->spool_dir, pusher.url);
		vec_push(&n->pushers, pusher.outer);
		vec_push(&g.pushers, pusher);
	}
	vec_for_each(&g.pushers, struct pusher_process *, pusher)
		start_pusher(&g, pusher);
	start_converter(&g);
	supervise(&g);
	if (g.is_unsent)
		_exit(WINDOW_GUARD_UNSENT);
	_exit(g.is_waiting ? WINDOW_GUARD_WAITING : 0);
}
