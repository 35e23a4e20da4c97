/* SPDX-License-Identifier: MIT */
/* The messages between caller and helper, and the environment of a command under sudo. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/elevate/elevation.h"
#include "lib/live/machine/child.h"
#include "tests/unit/test.h"

struct pair {
	int ends[2];
};

static void pair_init(struct pair *p)
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p->ends), 0);
}

static void pair_release(struct pair *p)
{
	close(p->ends[0]);
	close(p->ends[1]);
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Sends bytes as they are, with any number of descriptors. */
static void send_raw(int socket, const void *data, size_t size, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(32 * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)data, size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[32] = {0};

	if (count) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	assert_true(sendmsg(socket, &header, 0) >= 0);
}

TEST(test_message)
{
	struct elevation_message message = {
		.kind = ELEVATION_SIGNAL,
		.value = 15,
		.from_terminal = 1,
	};
	struct elevation_message got;
	struct pair p;

	pair_init(&p);
	assert_int_equal(elevation_receive(p.ends[1], &got, NULL), -EAGAIN);
	assert_int_equal(elevation_send(p.ends[0], &message, NULL), 0);
	assert_int_equal(elevation_receive(p.ends[1], &got, NULL), 0);
	assert_memory_equal(&got, &message, sizeof(got));
	close(p.ends[0]);
	assert_int_equal(elevation_receive(p.ends[1], &got, NULL), -EPIPE);
	assert_int_equal(elevation_send(p.ends[1], &message, NULL), -EPIPE);
	close(p.ends[1]);
}

TEST(test_descriptors)
{
	struct elevation_message message = {.kind = ELEVATION_START}, got;
	int fds[ELEVATION_FD_COUNT] = {2, -1, 1, -1, -1, 0, -1, -1, -1}, taken[ELEVATION_FD_COUNT];
	struct pair p;
	int before;

	pair_init(&p);
	before = count_fds();
	assert_int_equal(elevation_send(p.ends[0], &message, fds), 0);
	assert_int_equal(elevation_receive(p.ends[1], &got, taken), 0);
	assert_int_equal(count_fds(), before + 3);
	for (int i = 0; i < ELEVATION_FD_COUNT; i++) {
		assert_int_equal(taken[i] >= 0, fds[i] >= 0);
		if (taken[i] < 0)
			continue;
		assert_int_equal(fcntl(taken[i], F_GETFD), FD_CLOEXEC);
		close(taken[i]);
	}
	pair_release(&p);
}

/* No descriptor of a malformed message stays open. */
TEST(test_malformed)
{
	struct elevation_message message = {.kind = ELEVATION_START, .value = 1}, got;
	int taken[ELEVATION_FD_COUNT], before;
	char longer[sizeof(message) + 1] = {0};
	const struct {
		const void *data;
		size_t size, count;
		int *fds;
	} cases[] = {
		{&message, sizeof(message) - 1, 0, taken},
		{&message, 1, 1, taken},
		{longer, sizeof(longer), 0, taken},
		{&message, sizeof(message), 0, taken}, /* fewer than announced */
		{&message, sizeof(message), 2, taken}, /* more than announced */
		{&message, sizeof(message), 32, taken}, /* more than fit */
		{&message, sizeof(message), 1, NULL}, /* none expected */
	};
	struct pair p;

	pair_init(&p);
	before = count_fds();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		send_raw(p.ends[0], cases[i].data, cases[i].size, cases[i].count);
		assert_int_equal(elevation_receive(p.ends[1], &got, cases[i].fds), -EPROTO);
		assert_int_equal(count_fds(), before);
	}
	message.value = 1 << ELEVATION_FD_COUNT;
	send_raw(p.ends[0], &message, sizeof(message), 1);
	assert_int_equal(elevation_receive(p.ends[1], &got, taken), -EPROTO);
	message.value = -1;
	send_raw(p.ends[0], &message, sizeof(message), 6);
	assert_int_equal(elevation_receive(p.ends[1], &got, taken), -EPROTO);
	assert_int_equal(count_fds(), before);
	pair_release(&p);
}

TEST(test_text_ends)
{
	struct elevation_message message = {.kind = ELEVATION_EXECUTED}, got;
	struct pair p;

	pair_init(&p);
	memset(message.text, 'x', sizeof(message.text));
	assert_int_equal(elevation_send(p.ends[0], &message, NULL), 0);
	assert_int_equal(elevation_receive(p.ends[1], &got, NULL), 0);
	assert_int_equal(strlen(got.text), sizeof(got.text) - 1);
	pair_release(&p);
}

TEST(test_environment)
{
	char *caller[] = {"PATH=/caller", "A=caller", "B=caller", "SHELL=/bin/zsh", NULL};
	char *own[] = {"PATH=/secure", "B=given", "C=given", "SHELL=/bin/sh", NULL};
	static const char *const wanted[] = {"PATH=/caller", "A=caller", "B=given",
					     "SHELL=/bin/zsh", "C=given"};
	char **merged = user_env_merge(caller, own);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_string_equal(merged[i], wanted[i]);
	assert_null(merged[5]);
	user_env_free(merged);
	/* No sudo started this test for a user that does not exist. */
	assert_null(user_env_of_caller(0xfffffffe));
}
