/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/wakeup.h"

#include <sys/epoll.h>

static int add(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int wakeup_open(struct wakeup *w)
{
	w->fd = epoll_create1(EPOLL_CLOEXEC);
	w->watched_fd = w->fd < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	return w->watched_fd < 0 ? -errno : add(w->fd, w->watched_fd);
}

void wakeup_release(struct wakeup *w)
{
	fd_close(w->watched_fd);
	fd_close(w->fd);
}

int wakeup_add(struct wakeup *w, int fd)
{
	return add(w->fd, fd);
}

int wakeup_watch(struct wakeup *w, int fd)
{
	return add(w->watched_fd, fd);
}

void wakeup_unwatch(struct wakeup *w, int fd)
{
	epoll_ctl(w->watched_fd, EPOLL_CTL_DEL, fd, NULL);
}

bool wakeup_is_asked(const struct wakeup *w)
{
	struct epoll_event event;

	return epoll_wait(w->watched_fd, &event, 1, 0) > 0;
}

void wakeup_wait(const struct wakeup *w, int timeout_ms)
{
	struct epoll_event event;

	/* Ignore which descriptor it was: the caller polls all of them. */
	epoll_wait(w->fd, &event, 1, timeout_ms);
}
