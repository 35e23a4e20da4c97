/* SPDX-License-Identifier: MIT */
#include "cmd/run/steering.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/pipeline.h"
#include "cmd/run/pipeline_internal.h"
#include "lib/recording/meta.h"

static void control_words_close(struct control_words *w)
{
	if (w->fd > STDERR_FILENO)
		close(w->fd);
	if (w->ack_fd > STDERR_FILENO)
		close(w->ack_fd);
	*w = CONTROL_WORDS_INIT;
}

static bool is_ready(int fd, short what)
{
	struct pollfd poll_fd = {.fd = fd, .events = what};

	return poll(&poll_fd, 1, 0) > 0;
}

static void obey_lines(struct control_words *w, control_word_fn *obey, void *ctx)
{
	char *end;

	while ((end = memchr(w->line, '\n', w->used))) {
		size_t size = (size_t)(end - w->line);

		*end = '\0';
		if (size && obey(ctx, w->line) && w->ack_fd >= 0 && is_ready(w->ack_fd, POLLOUT))
			(void)!write(w->ack_fd, "ack\n", 4);
		w->used -= size + 1;
		memmove(w->line, end + 1, w->used);
	}
	/* Longer words are not valid. */
	if (w->used == sizeof(w->line))
		w->used = 0;
}

void control_words_poll(struct control_words *w, control_word_fn *obey, void *ctx)
{
	ssize_t count;

	while (w->fd >= 0 && is_ready(w->fd, POLLIN)) {
		count = read(w->fd, w->line + w->used, sizeof(w->line) - w->used);
		if (count < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* The peer has closed its end. */
		if (count <= 0)
			control_words_close(w);
		else
			w->used += (size_t)count;
		obey_lines(w, obey, ctx);
	}
}

#define NS_PER_SECOND 1000000000ull

static int check_words(const struct live_options *live, struct error *err)
{
	const int fds[] = {live->control_fd, live->ack_fd};

	for (size_t i = 0; i < 2; i++) {
		int flags = fds[i] >= 0 ? fcntl(fds[i], F_GETFL) : 0;

		if (flags < 0 || (fds[i] >= 0 && (flags & O_ACCMODE) == (i ? O_RDONLY : O_WRONLY)))
			return error_text(err, -EBADF, "--control-fd %d: not open for %s", fds[i],
					  i ? "writing" : "reading");
		if (fds[i] >= 0)
			fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	}
	return 0;
}

int steering_open(struct pipeline *p, struct error *err)
{
	const struct live_options *live = p->options->live;
	struct steering *s = &p->steering;
	int ret = check_words(live, err);

	if (ret)
		return ret;
	s->words.fd = live->control_fd;
	s->words.ack_fd = live->ack_fd;
	if (p->options->front && p->options->front->control >= 0)
		control_socket_adopt(&s->socket, steal_fd(&p->options->front->control), &p->owner);
	else if (!p->options->front && !control_socket_listen(&s->socket, getpid(), &p->owner))
		log_info("no control socket: no safe runtime folder");
	if (!live->delay_ns)
		return 0;
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return s->timer_fd < 0 ? error_set(err, -errno, "cannot create a timer") : 0;
}

int steering_watch(struct pipeline *p, struct error *err)
{
	const struct steering *s = &p->steering;
	const int fds[] = {s->timer_fd, s->socket.fd, s->words.fd};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(fds) / sizeof(*fds); i++) {
		if (fds[i] >= 0)
			ret = recorder_watch(p->recorder, fds[i], err);
		/* epoll rejects regular files, which are always readable. */
		if (ret == -EPERM)
			ret = error_text(err, -EINVAL, "--control-fd %d: not a pipe or a socket",
					 fds[i]);
	}
	return ret;
}

void steering_pause(struct pipeline *p, bool is_paused)
{
	const struct itimerspec never = {0};

	/* A request overrides --delay. */
	if (p->steering.timer_fd >= 0)
		timerfd_settime(p->steering.timer_fd, 0, &never, NULL);
	p->steering.is_paused = is_paused;
	recorder_pause(p->recorder, is_paused);
	progress_paused(&p->progress, is_paused);
}

int steering_begin(struct pipeline *p, struct error *err)
{
	const struct live_options *live = p->options->live;
	struct itimerspec at = {
		.it_value.tv_sec = (time_t)(live->delay_ns / NS_PER_SECOND),
		.it_value.tv_nsec = (long)(live->delay_ns % NS_PER_SECOND),
	};

	if (live->delay_ns || live->starts_paused)
		steering_pause(p, true);
	if (live->delay_ns && timerfd_settime(p->steering.timer_fd, 0, &at, NULL))
		return error_set(err, -errno, "cannot set a timer");
	return 0;
}

static const char *state_of(const struct pipeline *p)
{
	if (p->supervisor.reason != STOP_NOT_YET)
		return "finishing";
	return p->steering.is_paused ? "paused" : "recording";
}

/* Returns the recorder's resident memory in bytes. */
static json_int_t resident_bytes(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/self/statm", 128, NULL);
	unsigned long long size = 0, resident = 0;

	if (!text || sscanf(text, "%llu %llu", &size, &resident) != 2)
		return 0;
	return (json_int_t)(resident * (unsigned long long)sysconf(_SC_PAGESIZE));
}

/*
 * Returns the output file, or the latest snapshot; the caller frees it. NULL if there is none yet.
 */
static char *path_of_file(const struct pipeline *p)
{
	const struct output_options *output = p->options->output;

	if (p->options->live->last.keep_ns)
		return p->flight.path ? absolute_path(p->flight.path) : NULL;
	if (output->raw_path)
		return absolute_path(output->raw_path);
	return output->no_file ? NULL : absolute_path(output->path);
}

/* Adds the results of snapshots. */
static void describe_snapshots(const struct pipeline *p, json_t *status)
{
	const struct flight *f = &p->flight;

	if (!p->options->live->last.keep_ns)
		return;
	json_object_set_new(status, "snapshots", json_integer(f->ended));
	if (f->ended)
		json_object_set_new(status, "snapshot_ok", json_boolean(!f->has_failed));
}

static json_t *describe(const struct pipeline *p)
{
	const struct pipeline_options *options = p->options;
	const struct profile *profile = p->recording.profile;
	_cleanup_free_ char *subject = profile ? subject_heading(options, profile) : NULL;
	_cleanup_free_ char *file = path_of_file(p);
	time_t since = (time_t)(profile ? profile->meta.start_realtime_ns / NS_PER_SECOND : 0);
	uint64_t begin = profile ? profile->meta.start_ns : 0;
	struct tm when;
	char text[32] = "";
	json_t *status;

	if (gmtime_r(&since, &when))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &when);
	status = json_pack("{s:s, s:i, s:s*, s:s, s:f, s:I, s:I, s:I, s:s*}", "state", state_of(p),
			   "pid", options->front ? (int)options->front->pid : (int)getpid(),
			   "subject", subject, "since", text, "seconds",
			   begin ? (double)(clock_monotonic_ns() - begin) / 1e9 : 0.0, "ticks",
			   (json_int_t)(profile ? profile->stats.cpu_samples : 0), "lost",
			   (json_int_t)(profile ? losses_count(&profile->stats, true) : 0),
			   "memory_bytes", resident_bytes(), "file", file);
	describe_snapshots(p, status);
	return status;
}

static json_t *refuse(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static json_t *ask_snapshot(struct pipeline *p, bool is_over)
{
	uint32_t number = is_over ? 0 : flight_ask(p, "prof snapshot");

	if (!number)
		return refuse(is_over ? "the recording is over" : "not recorded with --last");
	return json_pack("{s:s, s:I}", "state", state_of(p), "snapshot", (json_int_t)number);
}

static json_t *answer(void *ctx, const char *command, const json_t *request)
{
	struct pipeline *p = ctx;
	bool is_over = p->supervisor.reason != STOP_NOT_YET;

	if (strcmp(command, "status") == 0)
		return describe(p);
	if (is_over && (strcmp(command, "pause") == 0 || strcmp(command, "resume") == 0))
		return refuse("the recording is over");
	if (strcmp(command, "pause") == 0)
		steering_pause(p, true);
	else if (strcmp(command, "resume") == 0)
		steering_pause(p, false);
	else if (strcmp(command, "stop") == 0)
		supervisor_end(&p->supervisor);
	else if (strcmp(command, "snapshot") == 0)
		return ask_snapshot(p, is_over);
	else
		return refuse("unknown command");
	return json_pack("{s:s}", "state", state_of(p));
}

static bool obey(void *ctx, const char *word)
{
	struct pipeline *p = ctx;

	if (strcmp(word, "enable") == 0) {
		steering_pause(p, false);
	} else if (strcmp(word, "disable") == 0) {
		steering_pause(p, true);
	} else if (strcmp(word, "snapshot") == 0) {
		flight_ask(p, "--control-fd");
	} else if (strcmp(word, "stop") == 0) {
		supervisor_end(&p->supervisor);
	} else if (strcmp(word, "ping") != 0) {
		command_say("--control-fd: unknown command %s", word);
		return false;
	}
	return true;
}

/* Ignores failures: requests then wait for the recorder's timer. */
static void watch_client(void *ctx, int fd)
{
	struct pipeline *p = ctx;
	struct error err = {0};

	recorder_watch(p->recorder, fd, &err);
}

void steering_poll(struct pipeline *p)
{
	struct steering *s = &p->steering;
	const struct control_hooks hooks = {.answer = answer, .added = watch_client, .ctx = p};
	unsigned int toggles = p->supervisor.requests[0];
	uint64_t expirations;

	p->supervisor.requests[0] = 0;
	if (toggles % 2)
		steering_pause(p, !s->is_paused);
	if (s->timer_fd >= 0 && read(s->timer_fd, &expirations, sizeof(expirations)) > 0)
		steering_pause(p, false);
	control_socket_poll(&s->socket, &hooks);
	control_words_poll(&s->words, obey, p);
}

void steering_release(struct steering *s)
{
	fd_close(s->timer_fd);
	control_socket_close(&s->socket);
	control_words_close(&s->words);
	*s = STEERING_INIT;
}
