/* SPDX-License-Identifier: MIT */
/* Reads the text of a script from the process. */
#include "lib/code/runtimes/v8.h"
#include "lib/code/runtimes/v8_heap.h"

#define SOURCE_MAX ((uint64_t)1 << 22) /* bytes; a longer text has no lines */
/* A collection moves texts while they are read. */
#define TRIES 2

/* Finds the text of the script, which may move. False: the script is not there any more. */
static bool find_text(const struct v8_heap *h, const struct managed_source *source, uint64_t *text)
{
	uint64_t id;

	return v8_heap_is(h, source->object, V8_SCRIPT) &&
	       v8_heap_words(h, source->object, h->layout->script_id, &id, 1) &&
	       id == (uint64_t)source->id << 32 &&
	       v8_heap_words(h, source->object, h->layout->script_source, text, 1);
}

static void take_text(void *ctx, unsigned int width, const void *text, size_t size)
{
	line_starts_add(ctx, width, text, size);
}

bool v8_read_source(const struct runtime_layout *layout, const struct managed_source *source,
		    runtime_read_fn *read, void *ctx, struct line_starts *lines)
{
	const struct v8_heap h = {&layout->v8, read, ctx};
	uint64_t text, again;

	for (int i = 0; i < TRIES; i++) {
		/* All that was read was the script's if it is the same as before. */
		if (find_text(&h, source, &text) &&
		    v8_heap_string(&h, text, SOURCE_MAX, take_text, lines) &&
		    find_text(&h, source, &again) && text == again)
			return true;
		line_starts_release(lines);
	}
	return false;
}
