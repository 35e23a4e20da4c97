/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/elevation.h"

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
