/* SPDX-License-Identifier: MIT */
#include "cmd/run/control_words.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void control_words_close(struct control_words *w)
{
	if (w->fd > STDERR_FILENO)
		close(w->fd);
	if (w->ack_fd > STDERR_FILENO)
		close(w->ack_fd);
	*w = CONTROL_WORDS_INIT;
}

static bool is_ready(int fd, short what)
{
	struct pollfd poll_fd = {.fd = fd, .events = what};

	return poll(&poll_fd, 1, 0) > 0;
}

static void obey_lines(struct control_words *w, control_word_fn *obey, void *ctx)
{
	char *end;

	while ((end = memchr(w->line, '\n', w->used))) {
		size_t size = (size_t)(end - w->line);

		*end = '\0';
		if (size && obey(ctx, w->line) && w->ack_fd >= 0 && is_ready(w->ack_fd, POLLOUT))
			(void)!write(w->ack_fd, "ack\n", 4);
		w->used -= size + 1;
		memmove(w->line, end + 1, w->used);
	}
	/* Longer words are not valid. */
	if (w->used == sizeof(w->line))
		w->used = 0;
}

void control_words_poll(struct control_words *w, control_word_fn *obey, void *ctx)
{
	ssize_t count;

	while (w->fd >= 0 && is_ready(w->fd, POLLIN)) {
		count = read(w->fd, w->line + w->used, sizeof(w->line) - w->used);
		if (count < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* Nobody holds the other end. */
		if (count <= 0)
			control_words_close(w);
		else
			w->used += (size_t)count;
		obey_lines(w, obey, ctx);
	}
}
