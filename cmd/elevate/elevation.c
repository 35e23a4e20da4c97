/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/elevation.h"

#include <sys/signalfd.h>
#include <sys/socket.h>

/* One more than expected: the kernel may fill the padding after the descriptors with it. */
#define PACKED_MAX (ELEVATION_FD_COUNT + 1)

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(ELEVATION_FD_COUNT * sizeof(int))];
};

/* Stores the valid descriptors contiguously. */
static size_t pack(struct elevation_message *message, const int *fds, int *packed)
{
	size_t count = 0;

	message->value = 0;
	for (int i = 0; i < ELEVATION_FD_COUNT; i++) {
		if (fds[i] < 0)
			continue;
		message->value |= 1 << i;
		packed[count++] = fds[i];
	}
	return count;
}

int elevation_send(int socket, struct elevation_message *message, const int *fds)
{
	union control control = {0};
	int packed[ELEVATION_FD_COUNT];
	struct iovec part = {message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	size_t count = fds ? pack(message, fds, packed) : 0;
	ssize_t sent;

	if (count) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), packed, count * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

/* Receives all descriptors of a message. -EPROTO if there are more than expected. */
static int take_fds(struct msghdr *header, int *packed, size_t *count)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(header);

	*count = 0;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (*count > PACKED_MAX)
			*count = PACKED_MAX; /* no room for more */
		memcpy(packed, CMSG_DATA(c), *count * sizeof(int));
	}
	return header->msg_flags & (MSG_CTRUNC | MSG_TRUNC) ? -EPROTO : 0;
}

/* Moves each descriptor to its index. */
static int unpack(const struct elevation_message *message, const int *packed, size_t count,
		  int *fds)
{
	bool has_fds = message->kind == ELEVATION_START || message->kind == ELEVATION_FORKED;
	uint32_t which = has_fds ? (uint32_t)message->value : 0;
	size_t next = 0;

	if (which >> ELEVATION_FD_COUNT || (size_t)__builtin_popcount(which) != count ||
	    (count && !fds))
		return -EPROTO;
	for (int i = 0; fds && i < ELEVATION_FD_COUNT; i++)
		fds[i] = which >> i & 1 ? packed[next++] : -1;
	return 0;
}

int elevation_receive(int socket, struct elevation_message *message, int *fds)
{
	union control control;
	int packed[PACKED_MAX], ret;
	struct iovec part = {message, sizeof(*message)};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	size_t count;
	ssize_t got;

	do {
		got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	ret = take_fds(&header, packed, &count);
	if (!ret && got != sizeof(*message))
		ret = got ? -EPROTO : -EPIPE;
	if (!ret)
		ret = unpack(message, packed, count, fds);
	if (ret)
		close_all(packed, count);
	else
		message->text[sizeof(message->text) - 1] = '\0';
	return ret;
}

/* Shorter than the interval between two keystrokes or two commands of a script. */
#define REPEAT_NS (50ull * 1000 * 1000)

static void remember_ignored(sigset_t *ignored)
{
	struct sigaction action;

	sigemptyset(ignored);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(ignored, sig);
	}
}

int signals_init(struct signals *s, struct error *err)
{
	sigset_t watched;

	*s = (struct signals){.fd = -1};
	remember_ignored(&s->inherited_ignored);
	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGQUIT);
	sigaddset(&watched, SIGUSR1);
	sigaddset(&watched, SIGUSR2);
	/* SIGHUP stays ignored under nohup. */
	if (!sigismember(&s->inherited_ignored, SIGHUP))
		sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &s->inherited_mask);
	/* The kernel discards an ignored signal, but queues a blocked one. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	/*
	 * Without these signals, a closed pipe or a file size limit makes write() fail, which is
	 * reported.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* With SIGCHLD ignored, the kernel would discard the command's exit status. */
	signal(SIGCHLD, SIG_DFL);
	s->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return error_set(err, -errno, "cannot receive signals");
	return 0;
}

bool signals_next(struct signals *s, struct signal_event *event)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;
		pid_t sender = (pid_t)info.ssi_pid;
		uint64_t now = clock_monotonic_ns();
		bool from_terminal = info.ssi_code == SI_KERNEL;
		bool repeated = !from_terminal && !signal_is_request(number) &&
				number == s->last_signal && sender == s->last_sender &&
				now - s->last_ns < REPEAT_NS;

		s->last_signal = number;
		s->last_sender = sender;
		s->last_ns = now;
		if (repeated)
			continue;
		*event = (struct signal_event){.signal = number, .from_terminal = from_terminal};
		return true;
	}
	return s->next_elsewhere && s->next_elsewhere(s->ctx, event);
}

void signals_restore(const struct signals *s)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sigismember(&s->inherited_ignored, sig) == 1 ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->inherited_mask, NULL);
}

void signals_release(struct signals *s)
{
	fd_close(s->fd);
	s->fd = -1;
}

static const char line[] = "ready\n";

int ready_check(const struct live_options *options, struct error *err)
{
	int flags;

	if (options->ready_fd < 0)
		return 0;
	flags = fcntl(options->ready_fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return error_text(err, -EBADF, "--ready-fd %d: not open for writing",
				  options->ready_fd);
	return 0;
}

int ready_open(struct ready *r, const struct live_options *options, struct identity owner,
	       struct error *err)
{
	*r = (struct ready){.fd = -1};
	if (ready_check(options, err))
		return -EBADF;
	if (options->ready_fd >= 0) {
		fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
		r->fd = options->ready_fd;
	}
	return options->ready_path ? outfile_open_plain(&r->file, options->ready_path, &owner, err)
				   : 0;
}

int ready_say(struct ready *r, struct error *err)
{
	if (r->fd >= 0) {
		(void)!write(r->fd, line, strlen(line));
		/* Keep the three standard descriptors open. */
		if (r->fd > STDERR_FILENO)
			close(r->fd);
		r->fd = -1;
	}
	if (!r->file)
		return 0;
	outfile_write(r->file, line, strlen(line));
	return outfile_commit(r->file, err);
}

void ready_release(struct ready *r)
{
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	r->fd = -1;
	outfile_free(r->file);
	r->file = NULL;
}
