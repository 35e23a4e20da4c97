/* SPDX-License-Identifier: MIT */
/* Enters schemas and markers of the stream into the profile. */
#ifndef PROF_LIB_STREAM_SESSION_MARKERS_MARKER_FEED_H
#define PROF_LIB_STREAM_SESSION_MARKERS_MARKER_FEED_H

#include "bpf/record.h"
#include "lib/stream/session/markers/marker_bounds.h"
#include "lib/stream/session/tasks/tasks.h"

struct wire_schema {
	uint32_t wire_id;
	schema_id id; /* NO_SCHEMA: the schema was rejected */
};

struct marker_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_schema) schemas;
	struct index by_wire_id;
	VEC(struct marker) machine; /* belong to no thread */
	VEC(string_id) rows; /* names of the machine's own rows, by number */
	struct marker_bounds bounds;
};

void marker_feed_init(struct marker_feed *f, struct profile *profile, struct tasks *tasks);
void marker_feed_release(struct marker_feed *f);

/*
 * Ignores later schemas of the same id. A schema that cannot be taken is left out, and its markers
 * are lost.
 */
void marker_feed_schema(struct marker_feed *f, const struct rec_schema *rec);

/* Resolves a stack, which becomes the value with that number in profile->markers.values. */
typedef void marker_stack_fn(void *ctx, uint32_t value, const struct rec_marker_stack *stack);

/*
 * Counts a marker without a schema, or of an unknown process, as lost; leaves out what a program
 * reported of the time before the recording; leaves out values that do not fit the schema.
 */
void marker_feed_marker(struct marker_feed *f, const struct rec_marker *rec, marker_stack_fn *fn,
			void *ctx);
/* Limits the markers of threads. Call it while thread ids are valid. */
void marker_feed_limit(struct marker_feed *f);
/* Shows markers of the machine on the first thread, like losses. */
void marker_feed_finish(struct marker_feed *f);

#endif
