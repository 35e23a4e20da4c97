/* SPDX-License-Identifier: MIT */
/*
 * What wakes the recorder. Mapping rings are written to by all processes of the machine, most of
 * which are none of the recorder's business: where something else builds a program, hundreds of
 * times a second. Whatever they tell can mostly wait until there is more of it.
 */
#ifndef PROF_LIB_LIVE_MACHINE_WAKEUP_H
#define PROF_LIB_LIVE_MACHINE_WAKEUP_H

struct wakeup {
	int fd; /* of all */
	int others_fd; /* of all but mapping rings */
};

/* Descriptors are watched until they are closed. 0 or a negative errno, all three. */
int wakeup_open(struct wakeup *w);
int wakeup_add(struct wakeup *w, int fd);
int wakeup_add_map_ring(struct wakeup *w, int fd);
/* After wakeup_open(), even a failed one. */
void wakeup_release(struct wakeup *w);

/*
 * Until one of them is readable, timeout_ms at most; and then, pause_ms at most, until one is that
 * is no mapping ring.
 */
void wakeup_wait(const struct wakeup *w, int timeout_ms, int pause_ms);

#endif
