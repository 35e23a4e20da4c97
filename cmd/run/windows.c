/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline_internal.h"

#include <jansson.h>
#include <poll.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/run/fleet_engine.h"
#include "cmd/run/window_converter.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"

#define NS_PER_MS 1000000ull
/* Time limit for naming and sending after the end. */
#define END_NS (4500 * NS_PER_MS)
/*
 * Additional time for a command's recording, whose exit status reports whether everything was sent.
 */
#define COMMAND_END_NS (20000 * NS_PER_MS)
#define STEP_MS 50
/* Interval between signs of life. */
#define ALIVE_NS (1000 * NS_PER_MS)

bool windows_are_on(const struct pipeline *p)
{
	return p->options->push && p->options->push->urls.count;
}

static int start(struct pipeline *p, struct error *err)
{
	struct windows *w = &p->windows;
	int ends[2], ret = window_pipe_new(ends);

	if (ret)
		return error_set(err, ret, "cannot create a socket pair");
	w->guard = fork();
	if (w->guard == 0) {
		struct window_converter converter = {
			.push = p->options->push,
			.output = p->options->output,
			.owner = &p->owner,
			.capture = p->spool.memory,
			.jobs = ends[1],
		};

		window_guard_run(&converter);
	}
	close(ends[1]);
	if (w->guard < 0) {
		w->guard = 0;
		close(ends[0]);
		return error_set(err, -errno, "cannot start a process");
	}
	w->socket = ends[0];
	return 0;
}

int windows_open(struct pipeline *p, struct error *err)
{
	const struct push_options *push = p->options->push;
	int ret = 0;

	if (!windows_are_on(p))
		return 0;
	/* The pushers open the files as well, but could report errors only later. */
	for (size_t i = 0; !ret && i < push->urls.count; i++) {
		struct fleet_engine engine;

		ret = fleet_engine_open(&engine, push->urls.items[i], err);
		fleet_engine_release(&engine);
	}
	return ret ? ret : start(p, err);
}

int windows_watch(struct pipeline *p, struct error *err)
{
	return p->windows.socket >= 0 ? recorder_watch(p->recorder, p->windows.socket, err) : 0;
}

/* The processes were killed: new ones get the pending window. */
static void start_again(struct pipeline *p)
{
	struct windows *w = &p->windows;
	struct error err = {0};

	fd_close(steal_fd(&w->socket));
	if (w->guard)
		waitpid(w->guard, NULL, WNOHANG);
	w->guard = 0;
	progress_erase(&p->progress);
	command_say_as(p->options->command, "the process that sends windows has died: %s",
		       start(p, &err) ? err.text : "restarting it");
	if (w->socket >= 0 && !recorder_watch(p->recorder, w->socket, &err) && w->is_out)
		window_pipe_send(w->socket, &w->job, sizeof(w->job), -1);
}

static void write_status(struct pipeline *p)
{
	struct windows *w = &p->windows;
	const struct push_report *r = &w->report;
	const struct profile_stats *stats = &p->recording.profile->stats;
	const char *path = p->options->push->status_path;
	_cleanup_free_ char *text = NULL, *line = NULL;
	struct error err = {0};
	json_t *status;

	if (!path)
		return;
	status = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s*}", "ticks",
			   (json_int_t)stats->cpu_samples, "lost",
			   (json_int_t)losses_count(stats, true), "windows", (json_int_t)w->count,
			   "sent_windows", (json_int_t)r->sent_windows, "sent_samples",
			   (json_int_t)r->sent_samples, "lost_windows",
			   (json_int_t)(w->lost_windows + r->lost_windows), "lost_samples",
			   (json_int_t)(w->lost_samples + r->lost_samples), "refused_profiles",
			   (json_int_t)r->refused_profiles, "waiting_windows",
			   (json_int_t)r->waiting_windows, "waiting_bytes",
			   (json_int_t)r->waiting_bytes, "failure", r->words[0] ? r->words : NULL);
	text = json_dumps(status, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(status);
	line = xasprintf("%s\n", text ? text : "");
	if (text)
		outfile_write_plain(path, &p->owner, line, strlen(line), &err);
	if (err.code && !w->has_warned)
		command_say_as(p->options->command, "--status: %s", err.text);
	w->has_warned = err.code;
}

/* Receives the answer to the pending window, if available. */
static void take_answer(struct pipeline *p)
{
	struct windows *w = &p->windows;
	struct pollfd ready = {.fd = w->socket, .events = POLLIN};
	struct window_answer answer;
	int got;

	if (w->socket < 0 || poll(&ready, 1, 0) <= 0)
		return;
	got = window_pipe_peek(w->socket, &answer, sizeof(answer), NULL);
	if (got <= 0) {
		start_again(p);
		return;
	}
	window_pipe_take(w->socket);
	w->report = answer.sums;
	w->lost_windows += answer.lost_windows;
	w->lost_samples += answer.lost_samples;
	if (w->is_out && answer.start_ns == w->job.window.start_ns) {
		capture_writer_end_window(p->spool.writer);
		w->is_out = false;
		w->count++;
	}
	write_status(p);
}

static void give_next(struct pipeline *p, bool is_at_end)
{
	struct windows *w = &p->windows;
	struct recorder_info info;
	uint64_t dropped;

	if (w->is_out)
		return;
	dropped = spool_drop_windows(&p->spool);
	w->waiting_lost += dropped;
	w->lost_samples += dropped;
	recorder_get_info(p->recorder, &info);
	if (!spool_next_window(&p->spool, &info, is_at_end, &w->job.window))
		return;
	w->job.lost = w->waiting_lost;
	w->waiting_lost = 0;
	w->is_out = true;
	if (w->socket < 0 || window_pipe_send(w->socket, &w->job, sizeof(w->job), -1))
		start_again(p);
}

static void say_alive(struct pipeline *p)
{
	int fd = p->options->push->alive_fd;
	uint64_t now_ns = fd < 0 ? 0 : clock_monotonic_ns();

	if (fd < 0 || now_ns - p->windows.alive_ns < ALIVE_NS)
		return;
	p->windows.alive_ns = now_ns;
	(void)!write(fd, "", 1);
}

void windows_poll(struct pipeline *p)
{
	if (!windows_are_on(p))
		return;
	say_alive(p);
	take_answer(p);
	give_next(p, false);
}

/* Waits until the guard has ended, and stores its *status. False if it is still running. */
static bool await_guard(struct pipeline *p, uint64_t until_ns, int *status)
{
	struct windows *w = &p->windows;

	while (waitpid(w->guard, status, WNOHANG) == 0) {
		if (clock_monotonic_ns() > until_ns)
			return false;
		poll(NULL, 0, STEP_MS);
	}
	w->guard = 0;
	return true;
}

/* Reports the result after the pushers have ended, as the latest report may be outdated. */
static void say_end(const struct pipeline *p, bool is_waiting)
{
	const struct windows *w = &p->windows;
	const char *noun = text_counted(w->count, "window", "windows");

	if (is_waiting)
		command_say_as(p->options->command,
			       "recorded %" PRIu64 " %s; unsent windows are kept in %s%s%s",
			       w->count, noun, p->options->push->spool_dir,
			       w->report.words[0] ? ": " : "", w->report.words);
	else
		command_say_as(p->options->command, "sent %" PRIu64 " %s", w->count, noun);
}

int windows_finish(struct pipeline *p, struct error *err)
{
	const struct window_job end = {0};
	struct windows *w = &p->windows;
	_cleanup_(report_release) struct report report = {0};
	uint64_t until_ns = clock_monotonic_ns() + END_NS;
	int status = 0;

	outcome_facts_ask(&report, p->recorder, p->recording.profile);
	spool_end(&p->spool, p->recorder, &p->recording.facts.info, &report);
	for (give_next(p, true); w->is_out && clock_monotonic_ns() < until_ns; give_next(p, true)) {
		struct pollfd ready = {.fd = w->socket, .events = POLLIN};

		poll(&ready, 1, STEP_MS);
		take_answer(p);
	}
	if (w->socket >= 0) {
		window_pipe_send(w->socket, &end, sizeof(end), -1);
		close(steal_fd(&w->socket));
	}
	if (p->options->argv)
		until_ns += COMMAND_END_NS;
	if (!await_guard(p, until_ns, &status)) {
		command_say_as(p->options->command, "windows are still being sent");
		return 0;
	}
	status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_REFUSED;
	if (status && status != WINDOW_GUARD_WAITING)
		return error_text(err, -EIO, "not all windows could be sent");
	if (!p->options->output->quiet)
		say_end(p, status == WINDOW_GUARD_WAITING);
	return 0;
}

void windows_release(struct windows *w)
{
	fd_close(w->socket);
	*w = WINDOWS_INIT;
}
