/* SPDX-License-Identifier: MIT */
/*
 * Replays a recorded command on a number of CPUs that all its threads share evenly: each thread
 * runs, ends waits and begins other threads as it did, and a wait lasts until the wake-up that
 * ended it, or as long as it did. With stretches of running time that are shorter, or waits that
 * are left out, the replay predicts the time of a changed command.
 */
#pragma once

#include "lib/path/thread_timelines.h"

enum replay_kind {
	REPLAY_START, /* begins thread `target` */
	REPLAY_WAKE, /* ends wait `target` */
	REPLAY_BLOCK, /* begins wait `target` */
	REPLAY_END,
};

/* A thread runs, then does something. */
struct replay_op {
	uint64_t from, until; /* when it was recorded */
	uint64_t run; /* running time within, ns */
	uint32_t target;
	uint8_t kind; /* enum replay_kind */
};

/* A wait in which a thread was blocked. */
struct replay_wait {
	thread_id thread;
	uint32_t number; /* among the thread's waits */
	bool is_woken; /* ends by a REPLAY_WAKE */
	bool is_timed; /* a timer or another interrupt ended it */
	uint64_t time; /* its length otherwise, ns */
	uint64_t latency; /* time from the wake-up until the thread could run, ns */
};

struct replay {
	const struct timelines *lines;
	VEC(struct replay_op) ops; /* thread by thread, in order of time */
	VEC(uint32_t) first; /* by thread: its first one; then the number of all */
	VEC(struct replay_wait) waits;
};

/* More ops than this are not replayed. */
#define REPLAY_OPS_MAX 1000000u

/*
 * Prepares a replay. `end`: of the recording. False if there is no command, or it has too much to
 * replay. The caller releases it, and keeps `t` until then.
 */
bool replay_init(struct replay *r, const struct timelines *t, uint64_t end);
void replay_release(struct replay *r);

struct replay_change {
	unsigned int cpus; /* 0: one for each thread */
	const float *factors; /* of the running time, by op; NULL: 1 */
	const bool *dropped; /* waits that take no time, by number; NULL: none */
};

/* Returns the time from the command's begin to its end, ns; 0 if it never ends. */
uint64_t replay_run(const struct replay *r, const struct replay_change *change);
