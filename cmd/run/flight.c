/* SPDX-License-Identifier: MIT */
#include "cmd/run/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/run/kept_capture.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/run/subject.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/recording/outcome_facts.h"
#include "lib/recording/output_name.h"

/* Records of a moment have left the recorder's rings and its sorting after this time. */
#define SETTLE_NS 200000000ull
#define DEFAULT_NAME "profile-%t.json.gz"
#define WAIT_MS 100

static bool is_on(const struct pipeline *p)
{
	return p->options->live->last.keep_ns;
}

uint32_t flight_ask(struct pipeline *p, const char *reason)
{
	struct flight *f = &p->flight;

	if (!is_on(p))
		return 0;
	recorder_mark(p->recorder, reason);
	if (!f->due_ns) {
		f->due_ns = clock_monotonic_ns() + p->options->live->last.after_ns + SETTLE_NS;
		f->asked++;
	}
	return f->asked;
}

/* A trigger has fired. */
static void fire(void *ctx, const char *reason)
{
	struct pipeline *p = ctx;
	struct flight *f = &p->flight;
	uint64_t now = clock_monotonic_ns();

	if (f->triggered_ns && now - f->triggered_ns < p->options->live->last.every_ns)
		return;
	f->triggered_ns = now;
	flight_ask(p, reason);
}

void flight_take(struct pipeline *p, const struct rec *rec)
{
	if (p->flight.triggers.rows.count)
		triggers_take(&p->flight.triggers, rec);
}

static char *choose_path(const struct pipeline *p, uint64_t realtime_ns, struct error *err)
{
	const struct output_options *output = p->options->output;
	const struct output_words words = {
		.pid = getpid(),
		.command = subject_word(p->options),
		.realtime_ns = realtime_ns,
	};

	return output_name_expand(output->path_is_set ? output->path : DEFAULT_NAME, &words, err);
}

/* Starts the process that writes, with the rights of the invoking user. */
static int start(struct pipeline *p, const struct kept_capture *k, struct error *err)
{
	struct flight *f = &p->flight;
	char **arguments = kept_capture_arguments(k, f->path, p->options->output);
	struct child_options options = {
		.argv = arguments,
		.identity = p->owner,
		.stdout_fd = STDERR_FILENO,
		.signal_mask = p->signals.inherited_mask,
		.ignored_signals = p->signals.inherited_ignored,
	};
	int ret;

	/* A signal to hurry waits until that can be done. */
	sigaddset(&options.signal_mask, SIGTERM);
	ret = child_new(&f->child, &options, err);
	if (!ret)
		ret = child_execute(f->child, err);
	kept_capture_free_arguments(arguments);
	return ret;
}

static void let_go(struct pipeline *p)
{
	struct flight *f = &p->flight;

	if (f->copying >= 0)
		close(steal_fd(&f->copying));
	spool_unpin(&p->spool);
}

/* Refuses a name in a folder that the owner cannot write to. */
static int check_folder(const struct pipeline *p, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1)
					    : xstrdup(".");
	struct identity before = identity_assume_files(&p->owner);
	int fd = before.failure ? -1 : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	identity_restore_files(&before);
	/* Not all file systems have files without names. */
	return ret && ret != -EOPNOTSUPP ? error_set(err, ret, "%s", path) : 0;
}

int flight_open(struct pipeline *p, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	int ret;

	if (!is_on(p))
		return 0;
	if (output_is_stdout(p->options->output))
		return error_text(err, -EINVAL, "--last: snapshots are files, so not -o -");
	path = choose_path(p, 0, err);
	ret = path ? check_folder(p, path, err) : err->code;
	if (ret)
		return ret;
	return triggers_open(&p->flight.triggers, &p->options->live->last, &p->owner, fire, p, err);
}

/* Begins to write what is kept. */
static int take(struct pipeline *p, struct error *err)
{
	_cleanup_(report_release) struct report report = {0};
	struct flight *f = &p->flight;
	struct recorder_info info;
	struct kept_capture k = {0};
	int ends[2], memory, ret;

	f->due_ns = 0;
	f->taken = f->asked;
	recorder_get_info(p->recorder, &info);
	if (!info.end_ns)
		info.end_ns = clock_monotonic_ns();
	outcome_facts_ask(&report, p->recorder, p->recording.profile);
	free(f->path);
	f->path = choose_path(p, info.start_realtime_ns + (info.end_ns - info.start_ns), err);
	if (!f->path)
		return err->code;
	spool_pin(&p->spool, p->recorder, &info, &report, &k.window, &memory);
	f->kept_ns = info.end_ns - k.window.start_ns;
	k.window.start_realtime_ns = info.start_realtime_ns + (k.window.start_ns - info.start_ns);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, -errno, "pipe");
	f->copying = ends[0];
	k.fd = fcntl(memory, F_DUPFD, STDERR_FILENO + 1);
	k.copied = fcntl(ends[1], F_DUPFD, STDERR_FILENO + 1);
	close(ends[1]);
	ret = k.fd < 0 || k.copied < 0 ? error_set(err, -EMFILE, "a snapshot") : start(p, &k, err);
	close(k.fd);
	close(k.copied);
	return ret;
}

static void fail(struct pipeline *p, struct error *err)
{
	p->flight.has_failed = true;
	p->flight.ended = p->flight.taken;
	let_go(p);
	progress_erase(&p->progress);
	command_say_as(p->options->command, "no snapshot: %s", err->text);
}

static void take_due(struct pipeline *p)
{
	struct flight *f = &p->flight;
	struct error err = {0};

	/* Later ones wait as one. */
	if (!f->due_ns || f->child || clock_monotonic_ns() < f->due_ns)
		return;
	progress_erase(&p->progress);
	if (take(p, &err)) {
		fail(p, &err);
		child_free(steal(f->child));
	}
}

/* Says what became of the snapshot. */
static void say_end(struct pipeline *p, int status)
{
	const struct flight *f = &p->flight;
	char size[32];
	struct stat st;

	progress_erase(&p->progress);
	/* The writer has said why it failed, unless it could not. */
	if (WIFSIGNALED(status))
		command_say_as(p->options->command, "no snapshot: signal %d ended its writer",
			       WTERMSIG(status));
	if (f->has_failed || p->options->output->quiet || stat(f->path, &st) != 0)
		return;
	text_format_bytes(size, sizeof(size), (uint64_t)st.st_size);
	command_say("wrote %s (%s): the last %.1f s", f->path, size, (double)f->kept_ns / 1e9);
}

/* Looks after the process that writes. */
static void follow(struct pipeline *p)
{
	struct flight *f = &p->flight;
	struct pollfd copying = {.fd = f->copying, .events = POLLIN};
	int status;

	if (f->copying >= 0 && poll(&copying, 1, 0) > 0)
		let_go(p);
	if (!f->child || child_poll(f->child, &status) != CHILD_EXITED)
		return;
	child_free(steal(f->child));
	let_go(p);
	f->ended = f->taken;
	f->has_failed = !WIFEXITED(status) || WEXITSTATUS(status);
	say_end(p, status);
}

void flight_poll(struct pipeline *p)
{
	unsigned int requests = p->supervisor.requests[1];

	p->supervisor.requests[1] = 0;
	if (!is_on(p))
		return;
	if (requests)
		flight_ask(p, "SIGUSR2");
	triggers_poll(&p->flight.triggers, clock_monotonic_ns(), p->steering.is_paused);
	follow(p);
	take_due(p);
}

static void await_child(struct pipeline *p)
{
	unsigned int signals;
	bool finish_now = false;

	while (p->flight.child) {
		struct pollfd fds[] = {
			{.fd = child_fd(p->flight.child), .events = POLLIN},
			{.fd = p->signals.fd, .events = POLLIN},
		};

		poll(fds, 2, WAIT_MS);
		follow(p);
		steering_poll(p);
		signals = supervisor_finish_signals(&p->supervisor);
		if (signals > 1)
			return;
		/* It ends naming then. */
		if (signals && p->flight.child && !finish_now)
			child_kill(p->flight.child, SIGTERM);
		finish_now = signals;
	}
}

int flight_finish(struct pipeline *p, struct error *err)
{
	struct flight *f = &p->flight;

	await_child(p);
	if (f->child)
		return error_text(err, -EINTR, "a snapshot is still being written, beside %s",
				  f->path);
	if (f->triggers.rows.count && !f->due_ns) {
		if (!f->taken && !p->options->output->quiet)
			command_say("no snapshot was asked for: no profile");
		return 0;
	}
	if (take(p, err)) {
		let_go(p);
		return err->code;
	}
	await_child(p);
	return f->has_failed ? error_text(err, -EIO, "the profile was not written") : 0;
}

void flight_release(struct flight *f)
{
	child_free(f->child);
	if (f->copying >= 0)
		close(f->copying);
	triggers_release(&f->triggers);
	free(f->path);
	*f = FLIGHT_INIT;
}
