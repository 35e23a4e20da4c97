/* SPDX-License-Identifier: MIT */
#include "lib/fleet/request_process.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/base/program.h"
#include "lib/fleet/engine_kind.h"

static const char program[] = "prof-view";
static const char grpc[] = "grpc";

/* Returns the next string; NULL, from then on, if it is not terminated. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at;
	size_t length = strnlen(text, (size_t)(end - text));

	*at += length < (size_t)(end - text) ? length + 1 : length;
	return text + length < end ? text : NULL;
}

bool request_message_read(struct request_message *m, const char *text, size_t size)
{
	const char *end = text + size, *timeout, *protocol, *header;
	bool is_sound;

	*m = (struct request_message){0};
	m->url = take_text(&text, end);
	for (int i = 0; i < FLEET_TLS_COUNT; i++)
		m->tls_files[i] = take_text(&text, end);
	timeout = take_text(&text, end);
	protocol = take_text(&text, end);
	is_sound = protocol && *m->url && text_to_u64(timeout, 10, &m->timeout_ns);
	m->is_grpc = is_sound && strcmp(protocol, grpc) == 0;
	while ((header = is_sound ? take_text(&text, end) : NULL) && *header)
		vec_push(&m->headers, header);
	if (!header) {
		vec_release(&m->headers);
		return false;
	}
	vec_push(&m->headers, NULL);
	m->headers.count--;
	m->body = text;
	m->size = (size_t)(end - text);
	return true;
}

bool request_write(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

bool request_write_text(int fd, const char *text)
{
	return request_write(fd, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Returns a descriptor from which the request can be read; -1 with errno set on failure. */
static int write_request(const struct engine_request *request)
{
	int fd = memfd_create("request", MFD_CLOEXEC);
	_cleanup_free_ char *timeout = xasprintf("%" PRIu64, request->to->timeout_ns);
	bool ok = fd >= 0 && request_write_text(fd, request->url);

	for (int i = 0; i < FLEET_TLS_COUNT; i++)
		ok = ok && request_write_text(fd, request->to->tls_files[i]);
	ok = ok && request_write_text(fd, timeout) &&
	     request_write_text(fd, request->to->kind->is_grpc ? grpc : NULL);
	for (const char *const *header = request->headers; ok && *header; header++)
		ok = request_write_text(fd, *header);
	if (ok && request_write(fd, "", 1) && request_write(fd, request->body, request->size) &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Only system calls are safe here: other threads may hold locks. */
static void run_child(const char *path, int request, int answer)
{
	char argument[] = REQUEST_PROCESS;
	char *const argv[] = {(char *)program, argument, NULL};
	int32_t code;

	if (dup2(request, STDIN_FILENO) < 0 || dup2(answer, STDOUT_FILENO) < 0)
		_exit(1);
	execv(path, argv);
	code = -errno;
	request_write(STDOUT_FILENO, &code, sizeof(code));
	_exit(1);
}

/* Reads to the end of the file. False if the answer is too large. */
static bool read_answer(int fd, struct strbuf *answer)
{
	char part[16384];

	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		if (answer->size + (size_t)n > ENGINE_ANSWER_MAX + sizeof(int32_t))
			return false;
		strbuf_add(answer, part, (size_t)n);
	}
}

static int judge(struct strbuf *answer, struct error *err)
{
	int32_t code;

	if (answer->size < sizeof(code))
		return error_text(err, -EPIPE, "%s ended without an answer", program);
	memcpy(&code, answer->text, sizeof(code));
	answer->size -= sizeof(code);
	memmove(answer->text, answer->text + sizeof(code), answer->size + 1);
	if (code >= 0)
		return code;
	if (answer->size) {
		text_to_line(answer->text);
		return error_text(err, code, "%s", answer->text);
	}
	error_set(err, code, "cannot start %s", program);
	error_hint(err, "it is built only where libmicrohttpd and libcurl are installed: run "
			"scripts/deps, then make");
	return code;
}

int request_process_send(void *ctx, const struct engine_request *request, struct strbuf *answer,
			 struct error *err)
{
	_cleanup_free_ char *path = companion_path(program);
	_cleanup_close_ int fd = write_request(request);
	int ends[2];
	bool is_whole;
	pid_t pid;

	if (fd < 0 || !path || pipe2(ends, O_CLOEXEC))
		return error_set(err, path ? -errno : -ENOENT, "cannot start %s", program);
	pid = fork();
	if (pid == 0)
		run_child(path, fd, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return error_set(err, -EAGAIN, "cannot start %s", program);
	}
	is_whole = read_answer(ends[0], answer);
	close(ends[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!is_whole)
		return error_text(err, -EFBIG,
				  "the engine's answer is too large: narrow the query");
	return judge(answer, err);
}

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int window_pipe_new(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

int window_pipe_send(int socket, const void *message, size_t size, int fd)
{
	union control control = {0};
	struct iovec part = {.iov_base = (void *)message, .iov_len = size};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (fd >= 0) {
		head.msg_control = control.room;
		head.msg_controllen = sizeof(control.room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(socket, &head, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int window_pipe_peek(int socket, void *message, size_t size, int *fd)
{
	union control control = {0};
	struct iovec part = {.iov_base = message, .iov_len = size};
	struct msghdr head = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	const struct cmsghdr *first;
	int received = -1;
	ssize_t got;

	do
		got = recvmsg(socket, &head, MSG_PEEK | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	first = got > 0 ? CMSG_FIRSTHDR(&head) : NULL;
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
	    first->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&received, CMSG_DATA(first), sizeof(received));
	if (fd)
		*fd = received;
	else if (received >= 0)
		close(received);
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (got && (size_t)got != size) {
		if (fd && received >= 0)
			close(received);
		return -EBADMSG;
	}
	return got > 0;
}

void window_pipe_take(int socket)
{
	char byte;

	/* Receiving one byte discards the rest of the message and its descriptors. */
	while (recv(socket, &byte, 1, 0) < 0 && errno == EINTR)
		continue;
}
