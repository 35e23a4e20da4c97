/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/caller.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "cmd/elevate/elevation.h"
#include "lib/base/identity.h"
#include "lib/live/machine/host.h"

/* Real, effective, saved and file system id. */
#define UID_COUNT 4
/* Number of descriptors that systemd allows root's services. */
#define FILES_MAX (512 * 1024)

static int fail_not_for_users(struct error *err)
{
	return error_text(
		err, -EINVAL,
		COMMAND_HELPER
		": only prof itself can start this, through a sudo that passes on its standard "
		"input");
}

/* Checks that the process at the other end created the socket and belongs to the user. */
static int check_peer(struct caller *f, const struct identity *user, struct error *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer), type_size = sizeof(int);
	int type;

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &type_size) ||
	    type != SOCK_SEQPACKET ||
	    getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return fail_not_for_users(err);
	if (peer.uid != user->uid)
		return error_text(err, -EPERM,
				  "the caller is user %u, but sudo runs this for user %u", peer.uid,
				  user->uid);
	f->pid = peer.pid;
	return 0;
}

/* Keeps only a few variables: root's actions must not depend on another user's environment. */
static void drop_environment(void)
{
	static const char *const kept[] = {"SUDO_UID", "SUDO_GID", "TERM", "NO_COLOR"};
	char *values[sizeof(kept) / sizeof(kept[0])];

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const char *value = getenv(kept[i]);

		values[i] = value ? xstrdup(value) : NULL;
	}
	clearenv();
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (values[i])
			setenv(kept[i], values[i], 1);
		free(values[i]);
	}
}

/* Raises resource limits: the caller's are for the command, not for the recorder. */
static void drop_limits(void)
{
	static const int unlimited[] = {RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA};
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit files;

	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++)
		setrlimit((unsigned int)unlimited[i], &none);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	/* Root in a container may be unable to raise the hard limit. */
	if (files.rlim_max >= FILES_MAX ||
	    setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_MAX, FILES_MAX}))
		setrlimit(RLIMIT_NOFILE, &files);
}

/* Returns -1 if the process has ended or the descriptor is not a pidfd. */
static pid_t pid_of(int pidfd)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
	_cleanup_free_ char *text = NULL;
	const char *line;
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	text = text_read_file(path, 4096, NULL);
	line = text ? strstr(text, "\nPid:\t") : NULL;
	if (!line || poll(&poll_fd, 1, 0))
		return -1;
	return (pid_t)strtol(line + strlen("\nPid:\t"), NULL, 10);
}

/* Checks that the command is the user's own process, without the privileges of another. */
static int check_command(struct caller *f, const struct identity *user, struct error *err)
{
	uint32_t uids[PROC_STATUS_NUMBERS_MAX], tgid[PROC_STATUS_NUMBERS_MAX];
	_cleanup_free_ char *status = NULL;

	if (f->command_fd < 0)
		return 0;
	f->command = pid_of(f->command_fd);
	if (f->command > 0)
		status = proc_status_read((uint32_t)f->command);
	if (!status || proc_status_numbers(status, "Tgid", tgid) != 1 ||
	    tgid[0] != (uint32_t)f->command ||
	    proc_status_numbers(status, "Uid", uids) != UID_COUNT)
		return error_text(err, -ESRCH, "the process for the command died");
	for (int i = 0; i < UID_COUNT; i++) {
		if (uids[i] != user->uid)
			return error_text(err, -EPERM,
					  "the command belongs to user %u, not to user %u", uids[i],
					  user->uid);
	}
	/* The process is still alive, so the checks did not see another one that reused its pid. */
	return pid_of(f->command_fd) == f->command
		       ? 0
		       : error_text(err, -ESRCH, "the process for the command died");
}

static int enter_folder(int folder, const struct identity *user, struct error *err)
{
	struct identity before = identity_assume_files(user);
	int ret = before.failure;

	if (!ret && fchdir(folder))
		ret = -errno;
	identity_restore_files(&before);
	return ret ? error_set(err, ret, "cannot enter the working directory") : 0;
}

static int take_over(struct caller *f, int *fds, const struct identity *user, struct error *err)
{
	int ret = 0;

	f->fetcher = fds[ELEVATION_FETCHER];
	f->ready_fd = fds[ELEVATION_READY_FD];
	f->control = fds[ELEVATION_CONTROL];
	f->control_fd = fds[ELEVATION_CONTROL_FD];
	f->ack_fd = fds[ELEVATION_ACK_FD];
	f->command_fd = fds[ELEVATION_COMMAND];
	if (fds[ELEVATION_STDOUT] < 0 || fds[ELEVATION_STDERR] < 0)
		ret = error_text(err, -EPROTO, "the caller has no standard output or error");
	else if (dup2(fds[ELEVATION_STDOUT], STDOUT_FILENO) < 0 ||
		 dup2(fds[ELEVATION_STDERR], STDERR_FILENO) < 0)
		ret = error_set(err, -errno, "cannot redirect a descriptor");
	if (!ret && fds[ELEVATION_FOLDER] >= 0)
		ret = enter_folder(fds[ELEVATION_FOLDER], user, err);
	for (int i = ELEVATION_STDERR; i <= ELEVATION_FOLDER; i++)
		fd_close(fds[i]);
	return ret ? ret : check_command(f, user, err);
}

static int shake_hands(struct caller *f, const struct identity *user, struct error *err)
{
	struct elevation_message message = {.kind = ELEVATION_HELLO};
	int fds[ELEVATION_FD_COUNT];
	int ret = elevation_send(f->socket, &message, NULL);

	if (!ret)
		ret = elevation_receive(f->socket, &message, fds);
	if (!ret && message.kind != ELEVATION_START)
		ret = -EPROTO;
	if (ret)
		return error_set(err, ret, "cannot reach the caller");
	return take_over(f, fds, user, err);
}

int caller_accept(struct caller *f, struct error *err)
{
	struct identity user = identity_of_invoker();
	int ret, null;

	*f = (struct caller){
		.socket = -1,
		.fetcher = -1,
		.ready_fd = -1,
		.control = -1,
		.control_fd = -1,
		.ack_fd = -1,
		.command_fd = -1,
	};
	if (geteuid() != 0 || user.is_self || user.uid == 0)
		return fail_not_for_users(err);
	ret = check_peer(f, &user, err);
	if (ret)
		return ret;
	f->socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (f->socket < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
		return error_set(err, -errno, "cannot read standard input");
	close(null);
	/* With "stty tostop", output from the background raises SIGTTOU. */
	signal(SIGTTOU, SIG_IGN);
	drop_environment();
	drop_limits();
	return shake_hands(f, &user, err);
}

void caller_release(struct caller *f)
{
	int *const fds[] = {&f->socket,	    &f->fetcher, &f->ready_fd,	&f->control,
			    &f->control_fd, &f->ack_fd,	 &f->command_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		fd_close(*fds[i]);
		*fds[i] = -1;
	}
}

void caller_set_options(struct caller *f, struct live_options *live)
{
	if (live->ready_fd >= 0)
		live->ready_fd = steal_fd(&f->ready_fd);
	if (live->control_fd >= 0)
		live->control_fd = steal_fd(&f->control_fd);
	if (live->ack_fd >= 0)
		live->ack_fd = steal_fd(&f->ack_fd);
}

static void add_signal(struct caller *f, int number, bool from_terminal)
{
	if (number > 0 && number < NSIG && f->signal_count < CALLER_SIGNALS)
		f->signals[f->signal_count++] = (struct signal_event){number, from_terminal};
}

/* Treats a lost caller as a hang-up: recording ends, the command continues. */
static void lose(struct caller *f)
{
	if (!f->gone)
		add_signal(f, SIGHUP, true);
	f->gone = true;
}

static void handle(struct caller *f, const struct elevation_message *message)
{
	switch (message->kind) {
	case ELEVATION_SIGNAL:
		add_signal(f, message->value, message->from_terminal);
		break;
	case ELEVATION_ENDED:
		f->wait_status = message->value;
		f->cpu_ns = message->cpu_ns;
		f->ended = true;
		break;
	default:
		break;
	}
}

/* Handles all pending messages. */
static void listen_to(struct caller *f)
{
	struct pollfd poll_fd = {.fd = f->socket, .events = POLLIN};
	struct elevation_message message;

	while (!f->gone && poll(&poll_fd, 1, 0) > 0) {
		if (elevation_receive(f->socket, &message, NULL))
			lose(f);
		else
			handle(f, &message);
	}
}

bool caller_next_signal(void *ctx, struct signal_event *event)
{
	struct caller *f = ctx;

	listen_to(f);
	if (!f->signal_count)
		return false;
	*event = f->signals[0];
	f->signal_count--;
	memmove(f->signals, f->signals + 1, f->signal_count * sizeof(f->signals[0]));
	return true;
}

int caller_fd(const struct caller *f)
{
	return f->gone && f->command_fd >= 0 ? f->command_fd : f->socket;
}

static int fd_of(void *ctx)
{
	return caller_fd(ctx);
}

static bool has_ended(void *ctx, int *wait_status, uint64_t *cpu_ns)
{
	struct caller *f = ctx;

	listen_to(f);
	/* Without the caller, the exit status is unknown. */
	if (f->gone && pid_of(f->command_fd) < 0)
		f->ended = true;
	*wait_status = f->wait_status;
	*cpu_ns = f->cpu_ns;
	return f->ended;
}

/* Keep signals that arrive meanwhile. */
static int execute(void *ctx, struct error *err)
{
	struct elevation_message message = {.kind = ELEVATION_READY};
	struct caller *f = ctx;
	int ret = elevation_send(f->socket, &message, NULL);

	while (!ret) {
		ret = elevation_receive(f->socket, &message, NULL);
		if (ret || message.kind == ELEVATION_EXECUTED)
			break;
		handle(f, &message);
	}
	if (ret)
		return error_set(err, ret, "cannot reach the caller");
	text_to_line(message.text);
	return message.value ? error_text(err, message.value < 0 ? message.value : -EPROTO, "%s",
					  message.text)
			     : 0;
}

int caller_child(struct caller *f, struct child **out, struct error *err)
{
	const struct child_keeper keeper = {
		.ctx = f,
		.fd = fd_of,
		.execute = execute,
		.has_ended = has_ended,
	};
	int pidfd;

	if (f->command_fd < 0)
		return error_text(err, -EPROTO, "the caller started no command");
	pidfd = fcntl(f->command_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (pidfd < 0)
		return error_set(err, -errno, "cannot follow the command");
	*out = child_adopt(f->command, pidfd, &keeper);
	return 0;
}

/* Takes over the pidfd of a forked command. */
static int take_command(struct caller *f, const struct elevation_message *message, int *fds,
			struct error *err)
{
	const struct identity user = identity_of_invoker();

	for (int i = 0; i < ELEVATION_FD_COUNT; i++) {
		if (i != ELEVATION_COMMAND && fds[i] >= 0)
			close(fds[i]);
	}
	fd_close(f->command_fd);
	f->command_fd = fds[ELEVATION_COMMAND];
	f->ended = false;
	f->wait_status = 0;
	f->cpu_ns = 0;
	if (f->command_fd < 0)
		return error_text(err, -EPROTO, "%s", message->text);
	return check_command(f, &user, err);
}

int caller_fork(struct caller *f, uint32_t variant, struct child **out, struct error *err)
{
	struct elevation_message message = {.kind = ELEVATION_FORK, .value = (int32_t)variant};
	int fds[ELEVATION_FD_COUNT];
	int ret = elevation_send(f->socket, &message, NULL);

	while (!ret) {
		ret = elevation_receive(f->socket, &message, fds);
		if (ret || message.kind == ELEVATION_FORKED)
			break;
		handle(f, &message);
	}
	if (ret)
		return error_set(err, ret, "cannot reach the caller");
	text_to_line(message.text);
	return take_command(f, &message, fds, err) ?: caller_child(f, out, err);
}

void caller_finish(struct caller *f, int status)
{
	struct elevation_message message = {.kind = ELEVATION_DONE, .value = status};

	if (f->socket >= 0)
		elevation_send(f->socket, &message, NULL);
}
