/* SPDX-License-Identifier: MIT */
/*
 * The lives of a recording's threads: each runs from its start to its end, except while it waits.
 * Times are ns of one clock.
 */
#pragma once

#include "bpf/wait_record.h"
#include "lib/model/tables/ids.h"

/* Cause of the end of a wait. */
enum wait_end {
	END_UNKNOWN,
	END_THREAD, /* by timeline_wait.waker */
	END_INTERRUPT,
	END_NOT_RECORDED, /* by a thread that is not recorded */
};

struct timeline_wait {
	uint64_t start, end;
	uint64_t woken; /* 0: unknown; otherwise clamped to the wait */
	uint64_t queued; /* last part of the wait, in which the thread waited for a CPU */
	thread_id waker; /* thread, or NO_THREAD */
	uint8_t ended_by; /* enum wait_end */
	bool is_lock; /* this kind of wait is used for locks */
	bool is_sleep; /* waits for time to pass */
	struct wait_reason reason;
};

#define TIMELINE_PARTNERS 4

struct timeline {
	VEC(struct timeline_wait) waits; /* in order of time, without overlaps */
	uint32_t process;
	uint32_t row; /* row in the finished profile, or NO_THREAD */
	thread_id parent; /* thread that created it, or NO_THREAD */
	uint64_t start, end; /* 0: unknown */
	uint64_t sleeps,
		wake_ups; /* own sleeps that a timer ended; waits of others that it ended */
	/* Threads of its process with which it recently exchanged wake-ups; or NO_THREAD. */
	thread_id partners[TIMELINE_PARTNERS];
};

/* Limit of retained waits. Beyond it, the older half of the time is dropped. */
#define TIMELINE_WAITS_MAX 6000000u

/* Name of waits for a reason. */
struct reason_label {
	struct wait_reason reason; /* without argument */
	string_id label; /* "[futex]" */
};

struct timelines {
	VEC(struct timeline) rows; /* by thread_id */
	VEC(struct reason_label) labels;
	size_t count, max; /* retained waits, and their limit; 0: TIMELINE_WAITS_MAX */
	thread_id root; /* the command's first thread, or NO_THREAD */
	thread_id leader; /* thread that ended the command's first process, or NO_THREAD */
	uint64_t begin; /* start of the command, or of the retained part */
	uint64_t left_out; /* part of the command before it, whose waits were dropped, ns */
};

void timelines_init(struct timelines *t);
void timelines_release(struct timelines *t);
/* Starts thread `id` of a process. Later calls for the same thread are ignored. */
void timelines_birth(struct timelines *t, thread_id id, uint32_t process, thread_id parent,
		     uint64_t time);
/* Ends the thread; the latest call counts. */
void timelines_end(struct timelines *t, thread_id id, uint64_t time);
/* Starts the command in this thread. */
void timelines_begin(struct timelines *t, thread_id root, uint32_t process, uint64_t time);
/* Adds a wait of a thread, minus what overlaps with its earlier waits. */
void timelines_add(struct timelines *t, thread_id id, const struct timeline_wait *wait);

/* Returns NO_STRING for a reason without a label. */
string_id timelines_label(const struct timelines *t, const struct wait_reason *reason);
void timelines_set_label(struct timelines *t, const struct wait_reason *reason, string_id label);

/* Returns the time from which the thread was runnable again. */
uint64_t timeline_wake_time(const struct timeline_wait *wait);
/*
 * Finds the likely holder of a lock when a wait for it is ended by a timer and begins anew, as
 * Python's threads wait for the GIL, or by a thread that only polls, as Go's monitor: a thread that
 * exchanges wake-ups with `id` and ran, or was queued for a CPU, for nearly all of the wait up to
 * `until`. If the record of its end was lost, finds a thread that `id` may have joined. Returns
 * NO_THREAD if there is none, or for other waits.
 */
thread_id timelines_find_holder(const struct timelines *t, thread_id id,
				const struct timeline_wait *wait, uint64_t until);
/*
 * Returns true if the waker of a wait only interrupted its thread, as a garbage collector does: it
 * was idle, began to run by a timer before the wait began, and not for long; or it only napped now
 * and then, and still did when the wait began; or it only polls. Its past then does not explain the
 * wait. `at`: the waker's first wait that had not ended at the wake-up.
 */
bool timelines_is_interruption(const struct timelines *t, size_t at,
			       const struct timeline_wait *wait);
/* Returns how long a thread with a known life ran in [from, until). */
uint64_t timeline_running(const struct timeline *line, uint64_t from, uint64_t until);
/* Returns the index of the first wait that ends at `time` or later, or waits.count. */
size_t timeline_find(const struct timeline *line, uint64_t time);
