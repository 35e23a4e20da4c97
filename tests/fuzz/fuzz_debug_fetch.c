/* SPDX-License-Identifier: MIT */
/*
 * Answers of the process that talks to servers: packets, each after two bytes. The first says
 * whether the packet is truncated, the second what comes with it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "symbolize/debuginfo/debug_fetch.h"
#include "tests/fuzz/input.h"

#define PACKETS_MAX 32

/* Opens a regular file, a folder, an unreadable file, or nothing. */
static int open_gift(uint8_t kind)
{
	switch (kind & 3) {
	case 1:
		return memfd_create("gift", MFD_CLOEXEC);
	case 2:
		return open("/", O_PATH | O_CLOEXEC);
	case 3:
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	return -1;
}

static bool send_packet(int socket, const void *data, size_t size, int gift)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec part = {(void *)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (gift >= 0) {
		memcpy(CMSG_DATA(&control.header), &gift, sizeof(gift));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void send_all(int socket, const uint8_t *data, size_t size)
{
	for (int i = 0; i < PACKETS_MAX && size > 2; i++) {
		size_t whole = sizeof(struct fetch_answer), wanted = data[0] & 1 ? data[0] : whole;
		struct fetch_answer answer = {0};
		int gift = open_gift(data[1]);

		data += 2;
		size -= 2;
		if (wanted > size)
			wanted = size;
		memcpy(&answer, data, wanted < whole ? wanted : whole);
		send_packet(socket, wanted < whole && size > wanted ? (const void *)data : &answer,
			    wanted < whole && size > wanted ? wanted : whole, gift);
		if (gift >= 0)
			close(gift);
		data += wanted;
		size -= wanted;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_fetcher_options options = {0};
	static const struct debug_request requests[] = {
		{.build_id = "0123456789abcdef", .path = "/bin/true"},
		{.kind = DEBUG_FETCH_EXECUTABLE, .build_id = "01"},
		{.kind = DEBUG_FETCH_SOURCE, .build_id = "01", .source = "/x.c"},
	};
	enum symbol_reason reason;
	struct debug_fetcher *f;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		abort();
	send_all(ends[1], data, size);
	/* Readers that wait for more see the end. */
	shutdown(ends[1], SHUT_WR);
	options.socket = ends[0];
	f = debug_fetcher_new(&options);
	for (int i = 0; i < 4; i++) {
		int fd = debug_fetch(f, &requests[i % 3], &reason);

		if (fd >= 0)
			close(fd);
		else if (reason == SYMBOLS_UNASKED || reason == SYMBOLS_FOUND)
			abort();
	}
	debug_fetcher_free(f);
	close(ends[1]);
	return 0;
}
