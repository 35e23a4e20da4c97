/* SPDX-License-Identifier: MIT */
/* Events of several rings: their order, and that only events still too young are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/live/perf/perf_event.h"
#include "tests/unit/test.h"

static char seen[4096]; /* "time:path " of each */

static void see(void *ctx, const struct map_event *event, struct rec_copy *copy)
{
	size_t size = strlen(seen);

	snprintf(seen + size, sizeof(seen) - size, "%llu:%s%s ", (unsigned long long)event->time,
		 event->path, copy ? "copy" : "");
	free(copy);
}

static const char *take(struct event_queue *t, uint64_t before)
{
	seen[0] = '\0';
	event_queue_take(t, before, see, NULL);
	return seen;
}

static void add(struct event_queue *t, uint64_t time, const char *path)
{
	const struct map_event event = {.kind = MAP_EVENT_MAP, .time = time, .path = path};

	event_queue_add(t, &event, NULL);
}

TEST(in_order_of_time_then_as_they_came)
{
	const struct map_event copy = {.time = 5};
	struct event_queue t = {0};

	add(&t, 7, "late");
	add(&t, 5, "first");
	event_queue_add(&t, &copy, xcalloc(1, sizeof(struct rec_copy)));
	add(&t, 5, "third");
	add(&t, 1, NULL);
	add(&t, 9, "young");
	assert_string_equal(take(&t, 7), "1: 5:first 5:copy 5:third ");
	add(&t, 6, "6");
	assert_string_equal(take(&t, 9), "6:6 7:late ");
	assert_string_equal(take(&t, 9), "");
	assert_string_equal(take(&t, UINT64_MAX), "9:young ");
	event_queue_release(&t);
}

TEST(paths_do_not_pile_up_where_some_turn_is_always_left)
{
	struct event_queue t = {0};
	char path[1024], wanted[1100];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (uint64_t time = 1; time <= 20000; time++) {
		path[0] = (char)('a' + time % 26);
		add(&t, time, path);
		path[0] = (char)('a' + (time - 1) % 26);
		snprintf(wanted, sizeof(wanted), "%llu:%s ", (unsigned long long)time - 1, path);
		assert_string_equal(take(&t, time), time > 1 ? wanted : "");
	}
	assert_int_equal(t.rows.count, 1);
	/* 20 MB of paths went through. */
	assert_in_range(t.paths.capacity, sizeof(path), 4u << 20);
	event_queue_release(&t);
}

TEST(copies_that_nobody_took_are_freed)
{
	const struct map_event event = {.time = 5};
	struct event_queue t = {0};

	event_queue_add(&t, &event, xcalloc(1, sizeof(struct rec_copy)));
	event_queue_release(&t);
}
