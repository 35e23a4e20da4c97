/* SPDX-License-Identifier: MIT */
/* prof pause, resume, snapshot, stop and status: requests to running recordings. */
#include <dirent.h>
#include <jansson.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cmd/command.h"
#include "cmd/elevate/control_socket.h"
#include "cmd/options/live_options.h"
#include "lib/base/identity.h"

/* Timeout for an answer. */
#define ANSWER_MS 10000
/* Interval of querying a snapshot's state. */
#define POLL_US 50000

extern const struct command command_pause, command_resume, command_snapshot, command_stop,
	command_status;

struct control {
	const char *pid; /* NULL: the only recording */
	bool as_json;
};

/* A recording that answers. */
struct recorder_at {
	int fd; /* connected socket */
	long pid;
};

struct recorders {
	VEC(struct recorder_at) rows; /* sorted by pid */
};

static void recorders_release(struct recorders *r)
{
	vec_for_each(&r->rows, const struct recorder_at *, row)
		close(row->fd);
	vec_release(&r->rows);
}

static void recorders_release_cleanup(struct recorders *r)
{
	recorders_release(r);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		close(steal_fd(&fd));
	return fd;
}

/* Adds recordings whose sockets are in the folder, and closes it. */
static void add_folder(struct recorders *r, int folder)
{
	DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end, path[64];
		long pid = strtol(entry->d_name, &end, 10);
		int fd;

		if (pid <= 0 || strcmp(end, ".sock") != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d/%.32s", folder, entry->d_name);
		fd = connect_to(path);
		if (fd >= 0)
			vec_push(&r->rows, ((struct recorder_at){fd, pid}));
	}
	if (dir)
		closedir(dir);
	else if (folder >= 0)
		close(folder);
}

ORDER(by_pid, struct recorder_at, COMPARE(a->pid, b->pid))

/* For root, finds recordings of all users who have logged in. */
static void find_all(struct recorders *r)
{
	struct identity owner = identity_of_invoker(),
			self = {.uid = getuid(), .gid = getgid(), .is_self = true};
	DIR *users = geteuid() == 0 ? opendir("/run/user") : NULL;
	const struct dirent *entry;

	add_folder(r, control_folder_open(&self, false, NULL));
	while (users && (entry = readdir(users))) {
		uint64_t uid;

		if (!text_to_u64(entry->d_name, 10, &uid) || uid == self.uid ||
		    (owner.is_self && uid == owner.uid))
			continue;
		self = (struct identity){.uid = (uid_t)uid, .gid = owner.gid};
		add_folder(r, control_folder_open(&self, false, NULL));
	}
	if (users)
		closedir(users);
	vec_sort(&r->rows, by_pid);
}

/* Sends the request and reads a line. Returns NULL with err set on failure. */
static json_t *send_request(const struct recorder_at *at, const char *command, struct error *err)
{
	_cleanup_free_ char *request = xasprintf("{\"command\":\"%s\"}\n", command);
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	struct pollfd poll_fd = {.fd = at->fd, .events = POLLIN};
	char part[1024];
	json_t *reply;

	if (send(at->fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
		error_set(err, -errno, "cannot reach recorder %ld", at->pid);
		return NULL;
	}
	while (!strchr(strbuf_text(&answer), '\n')) {
		ssize_t count = poll(&poll_fd, 1, ANSWER_MS) > 0
					? recv(at->fd, part, sizeof(part) - 1, 0)
					: 0;

		if (count <= 0 || answer.size > 1 << 20) {
			error_text(err, -ETIMEDOUT, "recorder %ld does not answer", at->pid);
			return NULL;
		}
		part[count] = '\0';
		strbuf_adds(&answer, part);
	}
	reply = json_loads(strbuf_text(&answer), 0, NULL);
	if (json_is_object(reply) && json_is_true(json_object_get(reply, "ok")))
		return reply;
	error_text(err, -EPROTO, "recorder %ld: %s", at->pid,
		   json_is_string(json_object_get(reply, "error"))
			   ? json_string_value(json_object_get(reply, "error"))
			   : "unreadable answer");
	json_decref(reply);
	return NULL;
}

static int take(void *ctx, const char *operand, struct error *err)
{
	struct control *c = ctx;
	uint64_t pid;

	if (c->pid)
		return error_text(err, -EINVAL, "only one PID can be given");
	if (!text_to_u64(operand, 10, &pid) || !pid)
		return error_text(err, -EINVAL, "%s: not a pid", operand);
	c->pid = operand;
	return 0;
}

static int fail_choice(const struct recorders *r, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf pids = {0};

	vec_for_each(&r->rows, const struct recorder_at *, row)
		strbuf_addf(&pids, "%s%ld", pids.size ? ", " : "", row->pid);
	return error_text(err, -EINVAL, "several recordings are in progress: choose one of %s",
			  strbuf_text(&pids));
}

/* Selects the recording: by pid, by the environment, or the only one. */
static int choose(const struct control *c, struct recorders *r, struct error *err)
{
	const char *path = c->pid ? NULL : getenv(CONTROL_VARIABLE);
	int fd = path ? connect_to(path) : -1;

	if (fd >= 0) {
		vec_push(&r->rows, ((struct recorder_at){fd, strtol(basename(path), NULL, 10)}));
		return 0;
	}
	find_all(r);
	for (size_t i = 0; c->pid && i < r->rows.count;) {
		if (r->rows.items[i].pid == strtol(c->pid, NULL, 10)) {
			i++;
			continue;
		}
		close(r->rows.items[i].fd);
		memmove(&r->rows.items[i], &r->rows.items[i + 1],
			(--r->rows.count - i) * sizeof(r->rows.items[0]));
	}
	if (!r->rows.count && c->pid)
		return error_text(err, -ESRCH, "the recording with pid %s does not answer", c->pid);
	if (!r->rows.count)
		return error_text(err, -ESRCH,
				  "no recording in progress that this user may control");
	return r->rows.count > 1 ? fail_choice(r, err) : 0;
}

static const char *text_of(const json_t *reply, const char *key)
{
	return json_string_value(json_object_get(reply, key)) ?: "";
}

static void print_status(const json_t *reply)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};
	_cleanup_free_ char *text = NULL;
	char memory[32];

	text_format_bytes(memory, sizeof(memory),
			  (uint64_t)json_integer_value(json_object_get(reply, "memory_bytes")));
	strbuf_addf(&line, "%lld  %s  %s for %.0f s, ",
		    json_integer_value(json_object_get(reply, "pid")), text_of(reply, "subject"),
		    text_of(reply, "state"), json_real_value(json_object_get(reply, "seconds")));
	strbuf_add_grouped(&line, (uint64_t)json_integer_value(json_object_get(reply, "ticks")));
	strbuf_addf(&line, " %s, ",
		    json_integer_value(json_object_get(reply, "ticks")) == 1 ? "sample"
									     : "samples");
	strbuf_add_grouped(&line, (uint64_t)json_integer_value(json_object_get(reply, "lost")));
	strbuf_addf(&line, " lost, %s", memory);
	if (*text_of(reply, "file"))
		strbuf_addf(&line, ", %s", text_of(reply, "file"));
	text = xstrdup(strbuf_text(&line));
	text_to_line(text);
	puts(text);
}

/* Waits until the recorder has written its output and closes the connection. */
static void await_end(const struct recorder_at *at)
{
	char nothing[256];

	while (recv(at->fd, nothing, sizeof(nothing), 0) > 0)
		;
}

/* Polls until that snapshot is written, and prints its name. */
static int await_snapshot(const struct recorder_at *at, json_int_t number, struct error *err)
{
	for (;;) {
		json_t *status = send_request(at, "status", err);
		bool has_ended = json_integer_value(json_object_get(status, "snapshots")) >= number;
		bool is_ok = json_is_true(json_object_get(status, "snapshot_ok"));
		_cleanup_free_ char *file = xstrdup(status ? text_of(status, "file") : "");
		bool is_known = status;

		json_decref(status);
		if (!is_known)
			return err->code;
		if (has_ended && !is_ok)
			return error_text(err, -EIO, "recorder %ld could not write %s", at->pid,
					  file);
		if (has_ended) {
			text_to_line(file);
			puts(file);
			return 0;
		}
		usleep(POLL_US);
	}
}

static int run_request(const struct control *c, const struct command *command, struct error *err)
{
	_cleanup_(recorders_release) struct recorders recorders = {0};
	json_t *reply;
	int ret = choose(c, &recorders, err);

	if (ret)
		return ret;
	reply = send_request(&recorders.rows.items[0], command->name, err);
	if (!reply)
		return err->code;
	if (command == &command_stop)
		await_end(&recorders.rows.items[0]);
	if (command == &command_snapshot)
		ret = await_snapshot(&recorders.rows.items[0],
				     json_integer_value(json_object_get(reply, "snapshot")), err);
	json_decref(reply);
	return ret;
}

static int list(const struct control *c, struct error *err)
{
	_cleanup_(recorders_release) struct recorders recorders = {0};
	json_t *all = json_array();
	int ret = 0;

	if (c->pid)
		ret = choose(c, &recorders, err);
	else
		find_all(&recorders);
	vec_for_each(&recorders.rows, const struct recorder_at *, row) {
		json_t *reply = ret ? NULL : send_request(row, "status", err);

		if (reply && !c->as_json)
			print_status(reply);
		if (reply)
			json_array_append_new(all, reply);
		else if (!ret)
			ret = err->code;
	}
	if (!ret && c->as_json) {
		json_dumpf(all, stdout, JSON_INDENT(2));
		puts("");
	} else if (!ret && !recorders.rows.count) {
		command_say("no recording in progress that this user may control");
	}
	json_decref(all);
	return ret;
}

static const char usage_of_requests[] =
	"Usage: prof pause|resume|snapshot|stop [PID]\n"
	"Pause a running recording, resume it, have it write its data so far, or end it. PID is\n"
	"that of prof, as listed by prof status; leave it out if there is only one, or in a\n"
	"recorded program. stop waits until the profile is written; snapshot waits until the\n"
	"last seconds are written, and prints the name of their file.\n"
	"\n";

static void make_table(struct option_table *t, void *ctx)
{
	t->operands = live_recorders;
	t->usage = usage_of_requests;
	t->take = take;
	option_table_add(t, option_help, NULL);
	t->after = "\n"
		   "Exit status: 0; 125 if no recording answers; 2 for a usage error.\n";
}

static void make_status_table(struct option_table *t, void *ctx)
{
	static const struct option_row rows[] = {
		{0, "json", NULL, "print an array of objects, see prof-control(7)", OPTION_FLAG,
		 OPTION_AT(control, as_json)},
		{0},
	};

	t->operands = live_recorders;
	t->usage = "Usage: prof status [PID]\n"
		   "List the recordings in progress: pid of the recorder, subject, time,\n"
		   "samples, memory and output file. Root sees those of all users.\n"
		   "\n";
	t->take = take;
	option_table_add(t, rows, ctx);
	option_table_add(t, option_help, NULL);
	t->after = "\n"
		   "Exit status: 0; 125 if a recording does not answer; 2 for a usage error.\n";
}

static int run(const struct command *command, int argc, char **argv)
{
	struct control c = {0};
	struct error err = {0};
	int ret = command_parse(argc, argv, command->options, &c, &err);

	if (ret)
		return command_fail_usage(command->name, &err);
	ret = command == &command_status ? list(&c, &err) : run_request(&c, command, &err);
	return ret ? command_fail(command->name, EXIT_REFUSED, &err) : 0;
}

/* Defines one command per row. */
#define COMMAND_ROW(word, text, table) \
	static int run_##word(int argc, char **argv) \
	{ \
		return run(&command_##word, argc, argv); \
	} \
	const struct command command_##word = { \
		.name = #word, .summary = text, .options = table, .run = run_##word}

COMMAND_ROW(pause, "pause a recording", make_table);
COMMAND_ROW(resume, "resume a paused recording", make_table);
COMMAND_ROW(snapshot, "have a recording write its data so far", make_table);
COMMAND_ROW(stop, "end a recording, and wait for its profile", make_table);
COMMAND_ROW(status, "list the recordings in progress", make_status_table);
