/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline_internal.h"

#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/kept_capture.h"
#include "cmd/run/pipeline.h"
#include "lib/base/program.h"
#include "lib/base/workers.h"
#include "lib/recording/outcome_facts.h"
#include "lib/recording/output_name.h"

#define WATCHED_FILE_POLL_NS 100000000l
#define FIRST_POLL_NS 1000000000l
#define NS_PER_SECOND 1000000000l

struct file_state {
	uint64_t ino, size, ns; /* ino 0: the file does not exist */
};

struct watched_file {
	char *path;
	const struct identity *owner; /* borrowed */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	bool was_seen; /* the first poll has finished */
	bool has_change, is_over;
};

static struct file_state read_state(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return (struct file_state){0};
	return (struct file_state){
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec,
	};
}

static bool differs(const struct file_state *a, const struct file_state *b)
{
	return a->ino != b->ino || a->size != b->size || a->ns != b->ns;
}

/* Waits until `ns` have passed or something has changed. Call with the lock held. */
static int wait_for_change(struct watched_file *w, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / NS_PER_SECOND;
	until.tv_nsec %= NS_PER_SECOND;
	return pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

/* Stores the observation and pauses. Returns false at the end. */
static bool go_on(struct watched_file *w, bool has_change)
{
	bool is_over;

	pthread_mutex_lock(&w->lock);
	w->has_change |= has_change;
	w->was_seen = true;
	pthread_cond_broadcast(&w->changed);
	while (!w->is_over && wait_for_change(w, WATCHED_FILE_POLL_NS) == 0)
		;
	is_over = w->is_over;
	pthread_mutex_unlock(&w->lock);
	return !is_over;
}

static void *watch(void *ctx)
{
	struct watched_file *w = ctx;
	struct identity before = identity_assume_files(w->owner);
	struct file_state state = {0}, last = {0};
	bool has_change = false;

	if (!before.failure)
		last = read_state(w->path);
	while (go_on(w, has_change) && !before.failure) {
		state = read_state(w->path);
		has_change = state.ino && differs(&state, &last);
		last = state;
	}
	identity_restore_files(&before);
	return NULL;
}

static void release(struct watched_file *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w->path);
	free(w);
}

/*
 * Starts watching with the rights of `owner`, which must stay valid. Reports changes from now on;
 * if the file system does not respond within a second, from its first response on. Returns NULL if
 * no thread could be started. The caller frees it.
 */
static struct watched_file *watched_file_new(const char *path, const struct identity *owner,
					     struct error *err)
{
	struct watched_file *w = xcalloc(1, sizeof(*w));
	int code;

	w->path = xstrdup(path);
	w->owner = owner;
	pthread_mutex_init(&w->lock, NULL);
	thread_cond_init(&w->changed);
	code = thread_start(&w->thread, "prof-file", watch, w);
	if (code) {
		error_set(err, -code, "cannot start a thread");
		release(w);
		return NULL;
	}
	pthread_mutex_lock(&w->lock);
	while (!w->was_seen && wait_for_change(w, FIRST_POLL_NS) == 0)
		;
	pthread_mutex_unlock(&w->lock);
	return w;
}

/* True once after the file has appeared or was modified. */
static bool watched_file_take_change(struct watched_file *w)
{
	bool has_change;

	pthread_mutex_lock(&w->lock);
	has_change = w->has_change;
	w->has_change = false;
	pthread_mutex_unlock(&w->lock);
	return has_change;
}

/* Accepts NULL. */
static void watched_file_free(struct watched_file *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	/* The thread may still use the path. */
	if (thread_join_soon(w->thread))
		release(w);
}

#define TRIGGERS_POLL_NS 100000000ull
#define PRESSURE_NS 1000000000ull
/* Maximum delay between an event and its record. */
#define RECORD_DELAY_NS 300000000ull
#define NS_PER_MS 1e6

static uint64_t read_pressure(const struct trigger *trigger, bool *is_known)
{
	_cleanup_free_ char *path = xasprintf("/proc/pressure/%.*s", (int)trigger->name_size,
					      trigger->text);
	_cleanup_free_ char *text = text_read_file(path, 512, NULL);
	const char *total = text ? strstr(text, "total=") : NULL;

	*is_known = total;
	return total ? strtoull(total + strlen("total="), NULL, 10) : 0;
}

static int begin(struct trigger_state *s, const struct identity *owner, struct error *err)
{
	bool is_known = true;

	if (s->trigger->kind == TRIGGER_PRESSURE)
		s->total_us = read_pressure(s->trigger, &is_known);
	if (s->trigger->kind == TRIGGER_FILE) {
		s->file = watched_file_new(s->trigger->text, owner, err);
		return s->file ? 0 : -EAGAIN;
	}
	if (!is_known)
		return error_text(err, -ENOTSUP,
				  "--when-psi: this kernel does not measure pressure");
	return 0;
}

/*
 * Starts watching with the rights of the owner, whose struct must stay valid. Returns a negative
 * errno with err for conditions that this kernel does not measure.
 */
static int triggers_open(struct triggers *t, const struct last_options *options,
			 const struct identity *owner, trigger_fn *fire, void *ctx,
			 struct error *err)
{
	int ret = 0;

	t->fire = fire;
	t->ctx = ctx;
	for (size_t i = 0; !ret && i < options->triggers.count; i++) {
		struct trigger_state s = {.trigger = &options->triggers.items[i]};

		ret = begin(&s, owner, err);
		vec_push(&t->rows, s);
		t->has_markers |= s.trigger->kind == TRIGGER_MARKER;
	}
	t->pressure_ns = clock_monotonic_ns();
	return ret;
}

/* Fires with a formatted reason. */
__attribute__((format(printf, 2, 3))) static void fire(struct triggers *t, const char *format, ...)
{
	_cleanup_free_ char *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	reason = xvasprintf(format, arguments);
	va_end(arguments);
	t->fire(t->ctx, reason);
}

static bool exit_matches(const struct trigger *trigger, int status)
{
	if (trigger->number == EXIT_FAILED)
		return status != 0;
	if (WIFSIGNALED(status))
		return trigger->number == (uint64_t)WTERMSIG(status);
	return trigger->number == (uint64_t)status;
}

static void take_exit(struct triggers *t, const struct rec_exit *rec)
{
	int status = (int)(rec->status & 0xffff);
	char name[SIGNAL_NAME_SIZE];

	if (!(rec->rec.flags & EXIT_PROCESS) || rec->rec.flags & REC_OUTSIDE)
		return;
	signal_name(WTERMSIG(status), name);
	vec_for_each(&t->rows, const struct trigger_state *, s) {
		if (s->trigger->kind != TRIGGER_EXIT || !exit_matches(s->trigger, status))
			continue;
		if (WIFSIGNALED(status))
			fire(t, "%s ended process %u", name, rec->rec.pid);
		else
			fire(t, "process %u ended with status %d", rec->rec.pid,
			     WEXITSTATUS(status));
		return;
	}
}

static void take_schema(struct triggers *t, const struct rec_schema *rec)
{
	const char *text = (const char *)(rec->fields + rec->field_count);

	vec_push(&t->schemas,
		 ((struct trigger_schema){rec->schema, xstrndup(text, rec->name_size)}));
}

static const char *schema_name(const struct triggers *t, uint32_t id)
{
	const struct trigger_schema *schema = vec_find(&t->schemas, it, it->id == id);

	return schema ? schema->name : "";
}

/* Returns the marker's own name, "" if it has none; the caller frees it. */
static char *own_name(const struct rec_marker *rec)
{
	const char *text = (const char *)(rec->values + rec->value_count) +
			   (size_t)rec->stack_count * sizeof(struct rec_marker_stack);

	return xstrndup(text, rec->name_size);
}

static void take_marker(struct triggers *t, const struct rec_marker *rec)
{
	_cleanup_free_ char *own = own_name(rec);
	const char *kind = schema_name(t, rec->schema);
	uint64_t ns = rec->rec.time - rec->start;

	vec_for_each(&t->rows, const struct trigger_state *, s) {
		_cleanup_free_ char *wanted = NULL;

		if (s->trigger->kind != TRIGGER_MARKER || ns < s->trigger->number)
			continue;
		wanted = xstrndup(s->trigger->text, s->trigger->name_size);
		if (fnmatch(wanted, own, 0) != 0 && fnmatch(wanted, kind, 0) != 0)
			continue;
		fire(t, "%s took %.3g ms", *own ? own : kind, (double)ns / NS_PER_MS);
		return;
	}
}

/* Checks a valid record against the triggers. */
static void triggers_take(struct triggers *t, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT:
	case REC_WAIT:
	case REC_RUN:
	case REC_ALLOC:
		t->active_ns = MAX(t->active_ns, rec->time);
		return;
	case REC_EXIT:
		take_exit(t, (const struct rec_exit *)rec);
		return;
	case REC_SCHEMA:
		if (t->has_markers)
			take_schema(t, (const struct rec_schema *)rec);
		return;
	case REC_MARKER:
		if (t->has_markers)
			take_marker(t, (const struct rec_marker *)rec);
		return;
	default:
		return;
	}
}

static void poll_stall(struct triggers *t, struct trigger_state *s, uint64_t now_ns)
{
	bool is_stalled = t->active_ns &&
			  now_ns > t->active_ns + RECORD_DELAY_NS + s->trigger->number;

	if (is_stalled && !s->has_fired)
		fire(t, "nothing ran for %.4g ms", (double)s->trigger->number / NS_PER_MS);
	s->has_fired = is_stalled;
}

static void poll_pressure(struct triggers *t, struct trigger_state *s, uint64_t passed_ns)
{
	bool is_known;
	uint64_t total_us = read_pressure(s->trigger, &is_known);
	double share = (double)(total_us - s->total_us) * 1e3 / (double)passed_ns;

	if (is_known && share * 1e6 >= (double)s->trigger->number)
		fire(t, "tasks waited for %.*s %.0f %% of a second", (int)s->trigger->name_size,
		     s->trigger->text, share * 100);
	s->total_us = total_us;
}

/* Checks conditions that are not in records. `is_paused`: tasks are not being recorded. */
static void triggers_poll(struct triggers *t, uint64_t now_ns, bool is_paused)
{
	uint64_t passed_ns = now_ns - t->pressure_ns;

	if (!t->rows.count || now_ns - t->polled_ns < TRIGGERS_POLL_NS)
		return;
	t->polled_ns = now_ns;
	if (is_paused && t->active_ns)
		t->active_ns = now_ns;
	vec_for_each(&t->rows, struct trigger_state *, s) {
		if (s->file && watched_file_take_change(s->file))
			fire(t, "%s was written", s->trigger->text);
		if (s->trigger->kind == TRIGGER_STALL)
			poll_stall(t, s, now_ns);
		if (s->trigger->kind == TRIGGER_PRESSURE && passed_ns >= PRESSURE_NS)
			poll_pressure(t, s, passed_ns);
	}
	if (passed_ns >= PRESSURE_NS)
		t->pressure_ns = now_ns;
}

static void triggers_release(struct triggers *t)
{
	vec_for_each(&t->schemas, const struct trigger_schema *, schema)
		free(schema->name);
	vec_release(&t->schemas);
	vec_for_each(&t->rows, const struct trigger_state *, s)
		watched_file_free(s->file);
	vec_release(&t->rows);
}

/* Time after which an event's records have left the recorder's rings and sorting. */
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
	uint64_t now = recorder_mark(p->recorder, reason);

	if (!f->due_ns) {
		f->asked_ns = now;
		f->due_ns = now + p->options->live->last.after_ns + SETTLE_NS;
		f->asked++;
	}
	return f->asked;
}

/* Called when a trigger fires. */
static void on_trigger(void *ctx, const char *reason)
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

/* Starts the writing process with the rights of the invoking user. */
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

	/* Block the signal that ends naming until it is handled. */
	sigaddset(&options.signal_mask, SIGTERM);
	ret = child_new(&f->child, &options, err) ?: child_execute(f->child, err);
	kept_capture_free_arguments(arguments);
	return ret;
}

static void let_go(struct pipeline *p)
{
	struct flight *f = &p->flight;

	fd_close(steal_fd(&f->copying));
	capture_writer_unpin(p->spool.writer);
}

/* Rejects a name in a folder that the owner cannot write to. */
static int check_folder(const struct pipeline *p, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1)
					    : xstrdup(".");
	struct identity before = identity_assume_files(&p->owner);
	int fd = before.failure ? -1 : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	fd_close(fd);
	identity_restore_files(&before);
	/* Not all file systems support unnamed files. */
	if (!ret || ret == -EOPNOTSUPP)
		return 0;
	error_set(err, ret, "cannot write snapshots to %s", folder);
	if (!p->options->output->path_is_set)
		error_hint(err, "name another file: -o FILE");
	return ret;
}

int flight_open(struct pipeline *p, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	int ret;

	if (!is_on(p))
		return 0;
	if (output_is_stdout(p->options->output))
		return error_text(err, -EINVAL,
				  "--last: cannot write snapshots to standard output");
	path = choose_path(p, 0, err);
	ret = path ? check_folder(p, path, err) : err->code;
	if (ret)
		return ret;
	return triggers_open(&p->flight.triggers, &p->options->live->last, &p->owner, on_trigger, p,
			     err);
}

/* Begins to write the retained data. */
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
		return error_set(err, -errno, "cannot create a pipe");
	f->copying = ends[0];
	k.fd = fcntl(memory, F_DUPFD, STDERR_FILENO + 1);
	k.copied = fcntl(ends[1], F_DUPFD, STDERR_FILENO + 1);
	close(ends[1]);
	ret = k.fd < 0 || k.copied < 0 ? error_set(err, -EMFILE, "cannot write a snapshot")
				       : start(p, &k, err);
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
	command_say_as(p->options->command, "cannot write a snapshot: %s", err->text);
}

static void take_due(struct pipeline *p)
{
	struct flight *f = &p->flight;
	struct error err = {0};

	/* Later requests share the next snapshot. It has to contain the mark of the first. */
	if (!f->due_ns || f->child || clock_monotonic_ns() < f->due_ns ||
	    recorder_given_ns(p->recorder) <= f->asked_ns)
		return;
	progress_erase(&p->progress);
	if (take(p, &err)) {
		fail(p, &err);
		child_free(steal(f->child));
	}
}

/* Reports the result of the snapshot. */
static void say_end(struct pipeline *p, int status)
{
	const struct flight *f = &p->flight;
	char size[32];
	struct stat st;

	progress_erase(&p->progress);
	/* The writer has reported its failure, unless a signal killed it. */
	if (WIFSIGNALED(status))
		command_say_as(p->options->command,
			       "cannot write a snapshot: its writer was killed by signal %d",
			       WTERMSIG(status));
	if (f->has_failed || p->options->output->quiet || stat(f->path, &st) != 0)
		return;
	text_format_bytes(size, sizeof(size), (uint64_t)st.st_size);
	command_say("wrote %s (%s): the last %.1f s", f->path, size, (double)f->kept_ns / 1e9);
}

/* Monitors the writing process. */
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
		/* The writer then stops naming. */
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
		return error_text(err, -EINTR, "a snapshot is still being written next to %s",
				  f->path);
	if (f->triggers.rows.count && !f->due_ns) {
		if (!f->taken && !p->options->output->quiet)
			command_say("no snapshot was requested: no profile was written");
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
	fd_close(f->copying);
	triggers_release(&f->triggers);
	free(f->path);
	*f = FLIGHT_INIT;
}
