/* SPDX-License-Identifier: MIT */
#include "cmd/run/window_converter.h"

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/base/outfile.h"
#include "lib/base/program.h"
#include "lib/fleet/request_process.h"
#include "lib/fleet/resources.h"
#include "lib/format/format.h"
#include "lib/recording/meta.h"
#include "lib/recording/recording.h"

#define NICENESS 10
/* A window is dropped after killing this many converters. */
#define ATTEMPTS_MAX 2
/* Maximum size of file contents kept between windows, in bytes. */
#define CONTENTS_MAX ((uint64_t)256 << 20)
/* Maximum size of cached names, in bytes. */
#define NAMES_BYTES ((size_t)32 << 20)
/* Free memory above this is returned to the kernel after a window. */
#define FREE_MAX ((size_t)8 << 20)

static void say(const char *line)
{
	command_say("%s", line);
}

/* Makes a profile of the window. Returns its descriptor; -ENODATA if nothing happened in it. */
static int name(struct window_converter *n, const struct capture_window *w, struct push_job *job,
		struct error *err)
{
	const struct recording_options options = {
		.part.window_end_ns = w->end_ns,
		.dirs = n->output->debug_dirs.items,
		.no_symbols = n->output->no_symbols,
		.no_limit = true,
		.cache = n->cache,
		.keeps_unpacked = !n->output->no_cache,
		.say = say,
	};
	_cleanup_close_ int copy = memfd_create("window", MFD_CLOEXEC);
	const struct export_options how = {.all_threads = true};
	struct export_counts counts;
	struct recording r = {0};
	uint64_t size;
	int ret = copy < 0 ? -errno : capture_window_copy(w, n->capture, copy);

	if (ret)
		return error_set(err, ret, "cannot read a window");
	/* Contents of files that may have been deleted are sent only once. */
	r.contents = n->contents;
	n->contents = (struct read_contents){0};
	ret = recording_load(&r, &source_capture, copy, "a window", &options, err);
	if (ret)
		return ret;
	read_contents_trim(&r.contents, CONTENTS_MAX);
	n->contents = r.contents;
	r.contents = (struct read_contents){0};
	job->id = r.profile->meta.start_realtime_ns;
	job->samples = r.profile->stats.cpu_samples;
	fleet_resources_keep(r.profile);
	ret = job->samples || job->lost || losses_count(&r.profile->stats, true)
		      ? written_file(FORMAT_DEFAULT, r.profile, &how, &counts, true, &size, err)
		      : error_text(err, -ENODATA, "a window is empty");
	recording_release(&r);
	return ret;
}

/* Returns memory: a window with many processes uses many times the usual amount. */
static void return_memory(void)
{
	if (mallinfo2().fordblks > FREE_MAX)
		malloc_trim(0);
}

static void add_report(struct push_report *sums, const struct push_report *report)
{
	sums->sent_windows += report->sent_windows;
	sums->sent_samples += report->sent_samples;
	sums->lost_windows += report->lost_windows;
	sums->lost_samples += report->lost_samples;
	sums->refused_profiles += report->refused_profiles;
	sums->waiting_windows += report->waiting_windows;
	sums->waiting_bytes += report->waiting_bytes;
	sums->failures += report->failures;
	if (report->words[0])
		memcpy(sums->words, report->words, sizeof(sums->words));
}

/* Sends a profile, or a request for a report, to a pusher. Earlier answers may come first. */
static int hand_over(int pusher, const struct push_job *job, int fd, struct push_report *report)
{
	int ret = window_pipe_send(pusher, job, sizeof(*job), fd);

	while (!ret) {
		ret = window_pipe_peek(pusher, report, sizeof(*report), NULL);
		if (ret <= 0)
			return ret ? ret : -EPIPE;
		window_pipe_take(pusher);
		if (report->id == job->id)
			return 0;
		ret = 0;
	}
	return ret;
}

/* Returns 0, or a negative errno if a pusher is gone. */
static int hand_over_all(const struct window_converter *n, const struct push_job *job, int fd,
			 struct window_answer *answer)
{
	int ret = 0;

	vec_for_each(&n->pushers, const int *, pusher) {
		struct push_report report = {0};

		if (!ret)
			ret = hand_over(*pusher, job, fd, &report);
		add_report(&answer->sums, &report);
	}
	return ret;
}

static int work(struct window_converter *n, const struct window_job *job,
		struct window_answer *answer)
{
	struct window_memory *m = n->memory;
	struct push_job window = {.lost = job->lost};
	struct error err = {0};
	_cleanup_close_ int fd = -1;
	int ret;

	m->attempts = m->start_ns == job->window.start_ns ? m->attempts + 1 : 1;
	m->start_ns = job->window.start_ns;
	if (m->attempts > ATTEMPTS_MAX)
		fd = error_text(&err, -EIO, "the process that symbolizes a window has died");
	else
		fd = name(n, &job->window, &window, &err);
	if (fd < 0) {
		window = (struct push_job){0};
		if (fd != -ENODATA) {
			command_say("%s: giving up", err.text);
			answer->lost_windows++;
			answer->lost_samples += job->window.held;
		}
	}
	answer->start_ns = job->window.start_ns;
	ret = hand_over_all(n, &window, fd, answer);
	if (!ret)
		m->last = job->window;
	return ret;
}

/* Sends the remaining data of a killed recorder, after the last window handed over. */
static int take_rest(struct window_converter *n)
{
	const struct capture_window *last = &n->memory->last;
	struct window_job job = {.window = {.at = last->next_at, .start_ns = last->end_ns}};
	struct window_answer answer = {0};
	struct capture_header header;
	struct stat st;

	if (fstat(n->capture, &st) ||
	    pread(n->capture, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return 0;
	if (!last->end) {
		job.window.at = sizeof(header);
		job.window.start_ns = header.start_ns;
	} else if (!last->next_at) {
		return 0;
	}
	job.window.end = (uint64_t)st.st_size;
	job.window.start_realtime_ns = header.start_realtime_ns +
				       (job.window.start_ns - header.start_ns);
	if (job.window.end <= job.window.at)
		return 0;
	command_say("the recorder is gone: sending the remaining data");
	return work(n, &job, &answer);
}

/* Works until the recorder ends. Returns 0, even if it was killed, or a negative errno. */
static int work_all(struct window_converter *n)
{
	struct window_job job;
	int ret = 0;

	while (!ret) {
		struct window_answer answer = {0};
		int got = window_pipe_peek(n->jobs, &job, sizeof(job), NULL);

		if (got <= 0)
			return got ? got : take_rest(n);
		if (!job.window.end)
			return 0;
		ret = work(n, &job, &answer);
		if (ret)
			break;
		return_memory();
		/* If the recorder is gone, the next receive fails. */
		window_pipe_send(n->jobs, &answer, sizeof(answer), -1);
		window_pipe_take(n->jobs);
	}
	return ret;
}

/* Returns the exit status of the process. */
static int window_converter_run(struct window_converter *n)
{
	/* Root must not read files that the invoking user cannot read. */
	struct identity before = identity_assume_files(n->owner);
	int ret = before.failure;

	n->cache = name_cache_new(NAMES_BYTES);
	setpriority(PRIO_PROCESS, 0, NICENESS);
	if (!ret)
		ret = work_all(n);
	name_cache_free(n->cache);
	return ret ? EXIT_REFUSED : 0;
}

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
	pusher->pid = MAX(pusher->pid, 0);
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
