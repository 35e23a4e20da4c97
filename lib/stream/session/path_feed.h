/* SPDX-License-Identifier: MIT */
/*
 * Follows births, ends and waits of threads for the critical path, and at the end makes markers of
 * its parts. Does nothing in recordings without SETTING_CRITICAL_PATH.
 */
#pragma once

#include "lib/path/thread_timelines.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/waits/waits.h"

struct path_feed {
	struct tasks *tasks;
	struct waits *waits;
	bool is_on;
	struct timelines lines;
};

void path_feed_init(struct path_feed *f, struct tasks *tasks, struct waits *waits);
void path_feed_release(struct path_feed *f);
/* Takes any record already taken by the tasks. */
void path_feed_record(struct path_feed *f, const struct rec *rec);
/* Adds the markers. By then, threads must have names, and unwanted ones must still exist. */
void path_feed_finish(struct path_feed *f);
