/* SPDX-License-Identifier: MIT */
/*
 * Follows births, ends and waits of threads for the critical path, and at the end makes markers of
 * its parts. Does nothing in recordings without SETTING_CRITICAL_PATH.
 */
#pragma once

#include "lib/path/thread_timelines.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/waits/waits.h"

/* A wait with a record of its start, until the thread is seen again. */
struct begun_wait {
	uint64_t start; /* 0: none */
	uint32_t cpu; /* as in struct rec_sample */
	struct wait_reason reason;
};

struct path_feed {
	struct tasks *tasks;
	struct waits *waits;
	bool is_on;
	struct timelines lines;
	VEC(struct begun_wait) begun; /* by thread_id */
};

void path_feed_init(struct path_feed *f, struct tasks *tasks, struct waits *waits);
void path_feed_release(struct path_feed *f);
/* Takes any record already taken by the tasks. */
void path_feed_record(struct path_feed *f, const struct rec *rec);
/* Adds the markers. By then, threads must have names, and unwanted ones must still exist. */
void path_feed_finish(struct path_feed *f);
