/* SPDX-License-Identifier: MIT */
/*
 * What wakes the recorder. Mapping rings are written to by all processes of the machine, most of
 * which are none of the recorder's business: where something else builds a program, hundreds of
 * times a second. Whatever they tell can mostly wait until there is more of it.
 */
#ifndef PROF_LIB_LIVE_WAKEUP_H
#define PROF_LIB_LIVE_WAKEUP_H

struct wakes {
	int fd; /* of all */
	int others_fd; /* of all but mapping rings */
};

/* Descriptors are watched until they are closed. 0 or a negative errno, all three. */
int wakes_open(struct wakes *w);
int wakes_add(struct wakes *w, int fd);
int wakes_add_map_ring(struct wakes *w, int fd);
/* After wakes_open(), even a failed one. */
void wakes_release(struct wakes *w);

/*
 * Until one of them is readable, timeout_ms at most; and then, pause_ms at most, until one is that
 * is no mapping ring.
 */
void wakes_wait(const struct wakes *w, int timeout_ms, int pause_ms);

#endif
