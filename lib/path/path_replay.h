/* SPDX-License-Identifier: MIT */
/*
 * Replays a recorded command on a number of CPUs, shared evenly by its threads. Each thread runs,
 * ends waits and starts threads as recorded; a wait lasts until its wake-up or, without one, as
 * long as recorded. Scaled running times and dropped waits predict the time of a changed command.
 */
#pragma once

#include "lib/path/thread_timelines.h"

enum replay_kind {
	REPLAY_START, /* starts thread `target` */
	REPLAY_WAKE, /* ends wait `target` */
	REPLAY_BLOCK, /* begins wait `target` */
	REPLAY_END,
};

/* Running time of a thread and the action that ends it. */
struct replay_op {
	uint64_t from, until; /* when it was recorded */
	uint64_t run; /* running time in this interval, ns */
	uint32_t target;
	uint8_t kind; /* enum replay_kind */
};

/* A wait that blocked a thread. */
struct replay_wait {
	thread_id thread;
	uint32_t number; /* index among the thread's waits */
	bool is_woken; /* ends by a REPLAY_WAKE */
	bool is_timed; /* ended by a timer or another interrupt, or nothing is known */
	uint64_t time; /* its length unless it is woken, ns */
	uint64_t latency; /* time from the wake-up until the thread was runnable, ns */
};

struct replay {
	const struct timelines *lines;
	VEC(struct replay_op) ops; /* by thread, in order of time */
	VEC(uint32_t) first; /* by thread: index of its first op; then the number of ops */
	VEC(struct replay_wait) waits;
};

/* Commands with more ops are not replayed. */
#define REPLAY_OPS_MAX 1000000u

/*
 * Prepares a replay. `end`: end of the recording. Returns false if there is no command or it is too
 * large. The caller releases `r`; `t` must live as long.
 */
bool replay_init(struct replay *r, const struct timelines *t, uint64_t end);
void replay_release(struct replay *r);

struct replay_change {
	unsigned int cpus; /* 0: one per thread */
	const float *factors; /* multiply running times, by op; NULL: 1 */
	const bool *dropped; /* waits that take no time, by index; NULL: none */
};

/* Returns the time from the command's start to its end, ns; 0 if it never ends. */
uint64_t replay_run(const struct replay *r, const struct replay_change *change);
