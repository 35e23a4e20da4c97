/* SPDX-License-Identifier: MIT */
#include "symbolize/debuginfo/debug_fetch.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/*
 * The downloading side of debug_fetch.h. The library depends on a dozen others, so only this
 * process loads it. It is not linked, because prof also runs without it.
 */

#define LIBRARY "libdebuginfod.so.1"

/* The library's interface, from elfutils/debuginfod.h. */
struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long size);

struct library {
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int size,
		    char **path);
	int (*find_executable)(struct debuginfod_client *client, const unsigned char *build_id,
			       int size, char **path);
	int (*find_source)(struct debuginfod_client *client, const unsigned char *build_id,
			   int size, const char *source, char **path);
};

static int send_answer(const struct fetch_answer *answer, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)answer, sizeof(*answer)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	return sendmsg(DEBUG_FETCH_FD, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/*
 * Returns the URL of the server that is sending. A function of the library; NULL if the library is
 * too old.
 */
static const char *(*get_url)(struct debuginfod_client *client);

/*
 * Called a few times a second; nonzero cancels the download. `done`: bytes of the file once it is
 * arriving, and a number of calls before that.
 */
static int on_progress(struct debuginfod_client *client, long done, long size)
{
	bool has_begun = !get_url || get_url(client);
	const struct fetch_answer answer = {
		.kind = FETCH_PROGRESS,
		.done = has_begun && done > 0 ? (uint64_t)done : 0,
		.size = size > 0 ? (uint64_t)size : 0,
	};

	return send_answer(&answer, -1);
}

bool debug_fetch_is_installed(void)
{
	void *handle = dlopen(LIBRARY, RTLD_LAZY);

	if (handle)
		dlclose(handle);
	return handle;
}

static int load(struct library *library, char *why, size_t room)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW);
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *, progress_fn *);

	if (!handle) {
		snprintf(why, room,
			 "DEBUGINFOD_URLS is set, but %s is missing: install libdebuginfod1",
			 LIBRARY);
		return -ENOSYS;
	}
	*(void **)&begin = dlsym(handle, "debuginfod_begin");
	*(void **)&set_progress = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&get_url = dlsym(handle, "debuginfod_get_url");
	*(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library->find_executable = dlsym(handle, "debuginfod_find_executable");
	*(void **)&library->find_source = dlsym(handle, "debuginfod_find_source");
	if (!begin || !set_progress || !library->find || !library->find_executable ||
	    !library->find_source)
		return -ENOSYS;
	library->client = begin();
	if (!library->client)
		return -ENOMEM;
	set_progress(library->client, on_progress);
	return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Finds the file, modifying the request. Build ids are hexadecimal strings, which size 0 means. */
static int find(const struct library *library, char *request, char **path)
{
	if (begins_with(request, FETCH_EXECUTABLE))
		return library->find_executable(
			library->client, (const unsigned char *)request + strlen(FETCH_EXECUTABLE),
			0, path);
	if (begins_with(request, FETCH_SOURCE)) {
		char *id = request + strlen(FETCH_SOURCE), *source = strchr(id, ' ');

		if (!source)
			return -EINVAL;
		*source++ = '\0';
		return library->find_source(library->client, (const unsigned char *)id, 0, source,
					    path);
	}
	return library->find(library->client, (const unsigned char *)request, 0, path);
}

static int answer_request(struct library *library, char *request)
{
	struct fetch_answer answer = {.kind = FETCH_FAILED};
	char *path = NULL;
	int fd = -1;

	if (!library->client)
		answer.code = load(library, answer.text, sizeof(answer.text));
	if (library->client) {
		fd = find(library, request, &path);
		answer.code = fd < 0 ? fd : 0;
		answer.kind = fd < 0 ? FETCH_FAILED : FETCH_DONE;
		free(path);
	}
	return send_answer(&answer, fd) || (fd >= 0 && close(fd));
}

int debug_fetch_serve(void)
{
	struct library library = {0};
	char request[FETCH_REQUEST_MAX + 1];

	for (;;) {
		ssize_t n = recv(DEBUG_FETCH_FD, request, sizeof(request) - 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? 1 : 0;
		request[n] = '\0';
		if (answer_request(&library, request))
			return 1;
	}
}

#define TICK_MS 100
/* Consecutive failures after which unreachable servers are abandoned. */
#define MAX_FAILURES 2

extern char **environ;

struct debug_fetcher {
	struct debug_fetcher_options options;
	pthread_mutex_t lock;
	pid_t child; /* 0: not running */
	int socket; /* -1: not connected */
	unsigned int failures; /* consecutive failures */
	uint64_t spent_ns;
	enum symbol_reason given_up; /* reason for abandoning it; SYMBOLS_UNASKED: not abandoned */
};

struct environment {
	VEC(char *) variables; /* NULL-terminated */
	char *home; /* owned; may be NULL */
};

struct debug_fetcher *debug_fetcher_new(const struct debug_fetcher_options *options)
{
	struct debug_fetcher *f = xcalloc(1, sizeof(*f));

	f->options = *options;
	f->socket = options->command ? -1 : options->socket;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

static void stop(struct debug_fetcher *f)
{
	fd_close(f->socket);
	f->socket = -1;
	if (f->child > 0) {
		kill(f->child, SIGKILL);
		while (waitpid(f->child, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	f->child = 0;
}

void debug_fetcher_free(struct debug_fetcher *f)
{
	if (!f)
		return;
	stop(f);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/*
 * Replaces the home and XDG folders by the owner's home, so that the client uses the owner's cache.
 * Disables the client's own time limit, which would also cut off slow downloads; stalled ones are
 * cancelled here.
 */
static void environment_init(struct environment *e, const char *home)
{
	static char no_limit[] = "DEBUGINFOD_TIMEOUT=0";
	bool is_limited = false;

	*e = (struct environment){0};
	for (char **v = environ; *v; v++) {
		if (home && (text_starts_with(*v, "HOME=") || text_starts_with(*v, "XDG_")))
			continue;
		is_limited |= text_starts_with(*v, "DEBUGINFOD_TIMEOUT=");
		vec_push(&e->variables, *v);
	}
	if (!is_limited)
		vec_push(&e->variables, no_limit);
	if (home) {
		e->home = xasprintf("HOME=%s", home);
		vec_push(&e->variables, e->home);
	}
	vec_push(&e->variables, NULL);
}

/*
 * The fork may have stopped other threads anywhere, holding any lock: only system calls until exec.
 * glibc's setuid() and similar functions would try to reach those threads.
 */
static void run_child(const struct debug_fetcher_options *options, int socket,
		      char *const *environment)
{
	const struct identity *owner = options->owner;
	int null = open("/dev/null", O_RDWR);
	gid_t gid = owner ? owner->gid : 0;
	sigset_t none;

	/* Ctrl-C at the terminal is meant for the parent. */
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	if (socket == DEBUG_FETCH_FD ? fcntl(socket, F_SETFD, 0) : dup2(socket, DEBUG_FETCH_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, DEBUG_FETCH_FD + 1, ~0u, 0);
	if (owner && !owner->is_self &&
	    (syscall(SYS_setgroups, 1L, &gid) || syscall(SYS_setresgid, gid, gid, gid) ||
	     syscall(SYS_setresuid, owner->uid, owner->uid, owner->uid)))
		_exit(1);
	/* A process with network access must not gain the privileges of its file. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execve(options->command[0], (char *const *)options->command, environment);
	_exit(1);
}

int debug_fetch_run(const struct debug_fetcher_options *options, pid_t *pid, int *socket)
{
	struct environment environment;
	int ends[2], ret = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	environment_init(&environment, options->home);
	*pid = fork();
	if (*pid == 0)
		run_child(options, ends[1], environment.variables.items);
	if (*pid < 0)
		ret = -EAGAIN;
	vec_release(&environment.variables);
	free(environment.home);
	close(ends[1]);
	if (ret)
		close(ends[0]);
	else
		*socket = ends[0];
	return ret;
}

static int start(struct debug_fetcher *f)
{
	pid_t pid;
	int ret;

	if (f->socket >= 0)
		return 0;
	if (!f->options.command)
		return -EPIPE;
	ret = debug_fetch_run(&f->options, &pid, &f->socket);
	if (!ret)
		f->child = pid;
	return ret;
}

/*
 * Receives one packet. Returns a negative errno on failure, -EPIPE if the peer is gone. *fd: -1 if
 * no descriptor came.
 */
static int receive(int socket, struct fetch_answer *answer, int *fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {answer, sizeof(*answer)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(header), sizeof(int));
	return n == sizeof(*answer) && answer->code > INT32_MIN ? 0 : -EPIPE;
}

static bool is_regular(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return fd >= 0 && flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_WRONLY &&
	       fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static void abandon(struct debug_fetcher *f, enum symbol_reason reason)
{
	f->given_up = reason;
	stop(f);
}

static enum symbol_reason failed(struct debug_fetcher *f, struct fetch_answer *answer)
{
	answer->text[sizeof(answer->text) - 1] = '\0';
	text_to_line(answer->text);
	if (answer->text[0])
		log_warn("%s", answer->text);
	if (answer->code == -ENOENT) {
		f->failures = 0;
		return SYMBOLS_NO_DEBUG_FILE;
	}
	log_debug("debuginfod: %s", strerror(-answer->code));
	if (++f->failures >= MAX_FAILURES || answer->text[0])
		abandon(f, SYMBOLS_DOWNLOAD_FAILED);
	return answer->code == -ETIME || answer->code == -ETIMEDOUT ? SYMBOLS_DOWNLOAD_TIMEOUT
								    : SYMBOLS_DOWNLOAD_FAILED;
}

/* Waits until the file has arrived or failed. */
static int wait_for_file(struct debug_fetcher *f, const char *path, enum symbol_reason *reason)
{
	const struct debug_fetcher_options *o = &f->options;
	uint64_t start_ns = clock_monotonic_ns(), moved_ns = start_ns;
	struct fetch_answer answer = {0}, last = {0};

	for (;;) {
		struct pollfd ready = {.fd = f->socket, .events = POLLIN};
		uint64_t now = clock_monotonic_ns();
		int fd, ret;

		*reason = SYMBOLS_DOWNLOAD_FAILED;
		if (o->progress && o->progress(o->ctx, path, last.done, last.size)) {
			abandon(f, SYMBOLS_DOWNLOAD_FAILED);
			return -1;
		}
		if ((o->limit_ns && f->spent_ns + now - start_ns > o->limit_ns) ||
		    (o->stall_ns && now - moved_ns > o->stall_ns)) {
			*reason = SYMBOLS_DOWNLOAD_TIMEOUT;
			abandon(f, *reason);
			return -1;
		}
		if (poll(&ready, 1, TICK_MS) <= 0)
			continue;
		ret = receive(f->socket, &answer, &fd);
		if (ret == 0 && answer.kind == FETCH_DONE && is_regular(fd)) {
			f->failures = 0;
			return fd;
		}
		fd_close(fd);
		if (ret == 0 && answer.kind == FETCH_PROGRESS) {
			if (answer.done != last.done)
				moved_ns = now;
			last = answer;
			continue;
		}
		if (ret == 0 && answer.kind == FETCH_FAILED)
			*reason = failed(f, &answer);
		else
			abandon(f, SYMBOLS_DOWNLOAD_FAILED);
		return -1;
	}
}

static bool send_request(int socket, const struct debug_request *request)
{
	char text[FETCH_REQUEST_MAX];
	int size;

	if (request->kind == DEBUG_FETCH_SOURCE)
		size = snprintf(text, sizeof(text), FETCH_SOURCE "%s %s", request->build_id,
				request->source);
	else
		size = snprintf(text, sizeof(text), "%s%s",
				request->kind == DEBUG_FETCH_EXECUTABLE ? FETCH_EXECUTABLE : "",
				request->build_id);
	if (size < 0 || (size_t)size >= sizeof(text))
		return false;
	return send(socket, text, (size_t)size + 1, MSG_NOSIGNAL) > 0;
}

int debug_fetch(struct debug_fetcher *f, const struct debug_request *request,
		enum symbol_reason *reason)
{
	const char *label = request->path ? request->path : request->build_id;
	int fd = -1;

	pthread_mutex_lock(&f->lock);
	*reason = f->given_up;
	if (*reason == SYMBOLS_UNASKED) {
		uint64_t start_ns = clock_monotonic_ns();

		*reason = SYMBOLS_DOWNLOAD_FAILED;
		if (start(f) == 0 && send_request(f->socket, request))
			fd = wait_for_file(f, label, reason);
		else
			abandon(f, SYMBOLS_DOWNLOAD_FAILED);
		f->spent_ns += clock_monotonic_ns() - start_ns;
	}
	pthread_mutex_unlock(&f->lock);
	return fd;
}
