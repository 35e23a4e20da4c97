/* SPDX-License-Identifier: MIT */
#include "cmd/text/alloc_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/common_library.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

/* Returns the frame that asked for the memory; NO_FRAME if it is unknown. */
static frame_id find_owner(const struct profile *p, stack_id stack)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		frame_id frame = p->stacks.rows.items[stack].frame;

		if (!is_of_common_library(p, &p->frames.rows.items[frame]))
			return frame;
	}
	return NO_FRAME;
}

/* Returns the function with most of what is held, by its bytes; NO_FUNC: none is known. */
static func_id find_largest(const struct profile *p, uint64_t *bytes, frame_id *largest)
{
	_cleanup_free_ uint64_t *sums = xcalloc(p->funcs.rows.count + 1, sizeof(*sums));
	func_id best = NO_FUNC;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
			frame_id frame = row->freed ? NO_FRAME : find_owner(p, row->stack);
			func_id func = frame == NO_FRAME ? NO_FUNC
							 : p->frames.rows.items[frame].func;

			if (func == NO_FUNC)
				continue;
			sums[func] += row->bytes;
			if (best == NO_FUNC || sums[func] > sums[best])
				best = func;
			if (best == func)
				*largest = frame;
		}
	}
	*bytes = best == NO_FUNC ? 0 : sums[best];
	return best;
}

static void add_largest(const struct profile *p, uint64_t held, struct strbuf *out)
{
	frame_id frame = NO_FRAME;
	uint64_t bytes;
	func_id func = find_largest(p, &bytes, &frame);
	const char *path = NULL, *base;
	source_file_id file;

	if (func == NO_FUNC || !held)
		return;
	strbuf_addf(out, ", %.0f %% from %s", 100 * (double)bytes / (double)held,
		    strings_get(&p->strings, p->funcs.rows.items[func].name));
	file = p->funcs.rows.items[func].file;
	if (file != NO_SOURCE_FILE)
		path = strings_get(&p->strings, p->source_files.rows.items[file].path);
	if (!path || !p->frames.rows.items[frame].line)
		return;
	base = strrchr(path, '/');
	strbuf_addf(out, " (%s:%" PRIu32 ")", base ? base + 1 : path,
		    p->frames.rows.items[frame].line);
}

void alloc_text_describe(const struct profile *p, struct strbuf *out)
{
	const struct alloc_stats *stats = &p->stats.allocs;
	char held[32], all[32];

	if (!stats->sampled)
		return;
	text_format_bytes(held, sizeof(held), stats->held_bytes);
	text_format_bytes(all, sizeof(all), stats->bytes);
	strbuf_addf(out, "held at the end: %s of %s that were allocated", held, all);
	add_largest(p, stats->held_bytes, out);
	if (stats->thinned)
		strbuf_addf(out, "; one row stands for several of %" PRIu64 " samples",
			    stats->sampled);
}
