/* SPDX-License-Identifier: MIT */
#include "tests/golden/text_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/golden/events.h"

#define TEXT_MAX (1 << 20)

struct text_state {
	struct source source;
	struct events events;
	size_t word;
	uint64_t count;
};

/* Invalid records go no further, as with real readers. */
static int next(struct source *s, const struct rec **rec, struct error *err)
{
	struct text_state *state = (struct text_state *)s;

	while ((*rec = events_next(&state->events, &state->word))) {
		if (!record_is_valid(*rec, record_size(*rec)))
			continue;
		state->count++;
		return SOURCE_RECORD;
	}
	return SOURCE_END;
}

static bool matches(int fd)
{
	char first;

	return pread(fd, &first, 1, 0) == 1 && first == '#';
}

/* Reads all, whichever part. */
static int open_text(void **out, int fd, const struct source_part *part, struct error *err)
{
	static const struct source_ops ops = {.next = next};
	struct text_state *state = xcalloc(1, sizeof(*state));
	char *text = xcalloc(1, TEXT_MAX + 1);
	ssize_t size = pread(fd, text, TEXT_MAX, 0);
	int ret;

	state->source.ops = &ops;
	ret = size < 0 ? error_set(err, -errno, "read the text")
		       : events_parse(&state->events, text, err);
	free(text);
	*out = state;
	return ret;
}

static struct source *source(void *state)
{
	return &((struct text_state *)state)->source;
}

static void start(const void *state, uint64_t *start_ns, uint64_t *realtime_ns)
{
	*start_ns = EVENTS_START_NS;
	*realtime_ns = 0;
}

static void count(const void *state, struct source_counts *counts)
{
	const struct text_state *s = state;

	*counts = (struct source_counts){
		.records = s->count,
		.end_ns = s->events.end_ns,
		.is_complete = true,
	};
}

static void close_text(void *state)
{
	events_release(&((struct text_state *)state)->events);
	free(state);
}

const struct source_kind text_source = {
	.name = "text",
	.matches = matches,
	.open = open_text,
	.source = source,
	.start = start,
	.count = count,
	.close = close_text,
};
