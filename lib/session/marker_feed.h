/* SPDX-License-Identifier: MIT */
/* Schemas and markers of the stream → those of the profile. */
#ifndef PROF_LIB_SESSION_MARKER_FEED_H
#define PROF_LIB_SESSION_MARKER_FEED_H

#include "bpf/record.h"
#include "lib/session/tasks.h"

struct wire_schema {
	uint32_t wire_id;
	schema_id id; /* NO_SCHEMA: there was one, which could not be taken */
};

struct marker_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_schema) schemas;
	struct index by_wire_id;
	VEC(struct marker) machine; /* of no thread */
};

void marker_feed_init(struct marker_feed *f, struct profile *profile, struct tasks *tasks);
void marker_feed_release(struct marker_feed *f);

/* The first schema of an id holds. What cannot be taken is left out, and its markers are lost. */
void marker_feed_schema(struct marker_feed *f, const struct rec_schema *rec);

/* A stack that is to become the value of that number in profile->markers.values. */
typedef void marker_stack_fn(void *ctx, uint32_t value, const struct rec_marker_stack *stack);

/* A marker without a schema is lost; a value that does not fit the schema is left out. */
void marker_feed_marker(struct marker_feed *f, const struct rec_marker *rec, marker_stack_fn *fn,
			void *ctx);
/* Markers of the machine are shown on the first thread, as losses are. */
void marker_feed_finish(struct marker_feed *f);

#endif
