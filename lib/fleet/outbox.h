/* SPDX-License-Identifier: MIT */
/*
 * Windows waiting for an engine, each a profile in a file of its own, so that they survive the
 * process. Windows that cannot be written to disk wait in memory. If there are too many, the oldest
 * are dropped and counted.
 */
#pragma once

#include "lib/base/base.h"

struct outbox_row {
	uint64_t id; /* start of the window in ns since the Unix epoch */
	uint64_t samples, bytes;
	uint64_t lost; /* samples lost before the window */
	uint64_t done; /* samples that the engine already has */
	int fd; /* descriptor of a window in memory; -1: window in the folder */
};

struct outbox_limits {
	uint64_t bytes, memory_bytes; /* limits for windows in the folder, and in memory */
	uint64_t age_ns; /* maximum age of a window; 0: no limit */
};

/* Zeroed except for `limits` and `folder`, it is empty. */
struct outbox {
	struct outbox_limits limits;
	int folder; /* descriptor of the folder; -1: none */
	VEC(struct outbox_row) rows; /* oldest first */
	uint64_t bytes, memory_bytes;
	uint64_t lost_windows, lost_samples; /* windows dropped, and samples in these windows */
	bool was_newest; /* the last outbox_choose() returned the newest window */
	uint64_t busy; /* id of the window being sent, which is never dropped; 0: none */
	int failure; /* negative errno of the last write to disk; 0: success */
};

/*
 * Opens the folder, which belongs to this user, and loads the windows that an earlier process left
 * in it.
 */
int outbox_open(struct outbox *o, const char *path, struct error *err);
void outbox_release(struct outbox *o);
/*
 * Takes ownership of a profile; replaces an existing one of the same id. `now_ns`: CLOCK_REALTIME.
 */
void outbox_add(struct outbox *o, const struct outbox_row *row, int fd, uint64_t now_ns);
/* Drops the windows that are too old. */
void outbox_expire(struct outbox *o, uint64_t now_ns);
/* Returns the window to send next, alternating between newest and oldest; NULL if there is none. */
struct outbox_row *outbox_choose(struct outbox *o);
/* Finds a window; NULL if it was dropped. */
struct outbox_row *outbox_find(struct outbox *o, uint64_t id);
/* Opens a profile for reading. Returns a negative errno if it is gone or damaged. */
int outbox_read(const struct outbox *o, const struct outbox_row *row);
/* Stores the number of samples that the engine has accepted. */
void outbox_progress(struct outbox *o, struct outbox_row *row, uint64_t done);
/* Removes a window. `is_lost`: counts it as lost, without the samples already done. */
void outbox_remove(struct outbox *o, struct outbox_row *row, bool is_lost);

/* Exponential backoff with jitter for a server that fails. */

/* Ratio of the longest delay to the first. */
#define BACKOFF_RATIO 300
#define BACKOFF_FIRST_NS 1000000000ull

/* Zeroed except for first_ns: no failure yet. */
struct backoff {
	uint64_t first_ns;
	uint64_t failures; /* consecutive failures */
	uint64_t due_ns; /* CLOCK_MONOTONIC time of the next attempt; 0: at once */
};

/*
 * Sets the time of the next attempt; at_least_ns is the server's Retry-After. `random`: any number.
 */
void backoff_fail(struct backoff *b, uint64_t now_ns, uint64_t at_least_ns, uint64_t random);
void backoff_succeed(struct backoff *b);
