/* SPDX-License-Identifier: MIT */
#include "lib/fleet/window_pipe.h"

#include <sys/socket.h>

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
