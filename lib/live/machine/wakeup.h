/* SPDX-License-Identifier: MIT */
/* Waits until the recorder has work. */
#pragma once

#include "lib/base/base.h"

struct wakeup {
	int fd; /* epoll instance for all descriptors */
	int watched_fd; /* epoll instance for the descriptors of wakeup_watch() */
};

/* Watches descriptors until they are closed. All three return 0 or a negative errno. */
int wakeup_open(struct wakeup *w);
int wakeup_add(struct wakeup *w, int fd);
/* Like wakeup_add(), for other modules' descriptors, which wakeup_is_asked() checks separately. */
int wakeup_watch(struct wakeup *w, int fd);
/* Undoes wakeup_watch(), for a descriptor that another process keeps open. */
void wakeup_unwatch(struct wakeup *w, int fd);
/*
 * True if a descriptor of wakeup_watch() is readable: one system call instead of one per
 * descriptor.
 */
bool wakeup_is_asked(const struct wakeup *w);
/* Works even after a failed wakeup_open(). */
void wakeup_release(struct wakeup *w);

/* Waits at most timeout_ms until a descriptor is readable. */
void wakeup_wait(const struct wakeup *w, int timeout_ms);
