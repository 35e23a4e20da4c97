/* SPDX-License-Identifier: MIT */
/* Enters schemas and markers of the stream into the profile. */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/tasks.h"

/* Divides room fairly among kinds. */

/*
 * Returns the maximum per kind for a total of `max`: kinds that need less leave the rest to the
 * others. UINT64_MAX if there is room for all. Sorts the counts.
 */
uint64_t fair_share(uint64_t *counts, size_t kinds, uint64_t max);

/*
 * Limits the number of markers: front-ends cannot show millions. Drops the shortest of each kind
 * that has too many, and adds a marker with their number. Ties are broken at random. Markers of
 * losses and kinds with few markers are kept.
 */

#define MARKERS_PER_THREAD 20000u
#define MARKERS_MAX 200000u

struct marker_bounds {
	VEC(uint64_t) left_out; /* by thread_id */
	VEC(uint64_t) floors; /* by schema: minimum rank of markers that are kept from now on */
	uint64_t added; /* markers added since the last limiting */
	/*
	 * Dropped markers whose values still take room in the profile's table. Reset by the caller
	 * that reclaims the values.
	 */
	uint64_t dropped;
	bool is_off; /* true: nothing is dropped */
};

void marker_bounds_release(struct marker_bounds *b);
/* Call after adding a marker to the thread. */
void marker_bounds_added(struct marker_bounds *b, struct profile *p, thread_id thread);
/* Limits all markers, for example after adding many by other means. */
void marker_bounds_limit(struct marker_bounds *b, struct profile *p);
/*
 * Call at the end, while thread ids are still valid. Returns true if `others` was set to a marker
 * for the threads without their own.
 */
bool marker_bounds_finish(struct marker_bounds *b, struct profile *p, struct marker *others);

struct wire_schema {
	uint32_t wire_id;
	schema_id id; /* NO_SCHEMA: the schema was rejected */
};

struct marker_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_schema) schemas;
	struct index by_wire_id;
	VEC(struct marker) machine; /* markers that belong to no thread */
	VEC(string_id) rows; /* names of the machine's own rows, by row number */
	struct marker_bounds bounds;
};

void marker_feed_release(struct marker_feed *f);

/*
 * Ignores later schemas with the same id. A schema that cannot be stored is left out, and its
 * markers are lost.
 */
void marker_feed_schema(struct marker_feed *f, const struct rec_schema *rec);

/* Resolves a stack, which becomes value number `value` of profile->markers.values. */
typedef void marker_stack_fn(void *ctx, uint32_t value, const struct rec_marker_stack *stack);

/*
 * Counts a marker as lost if it has no schema or its process is unknown. Skips a program's reports
 * from before the recording, and values that do not fit the schema.
 */
void marker_feed_marker(struct marker_feed *f, const struct rec_marker *rec, marker_stack_fn *fn,
			void *ctx);
/* Limits the markers of threads. Call while thread ids are valid. */
void marker_feed_limit(struct marker_feed *f);
/* Adds markers of the machine, like losses, to the first thread. */
void marker_feed_finish(struct marker_feed *f);

/*
 * Spans reported by programs: sets their ends, and adds their names as frames at the root of the
 * thread's stacks.
 *
 * A stack taken while spans of its thread were open has their names at its root, in the order in
 * which they were opened, regardless of the order of their ends: if two spans overlap, only the
 * later one remains after the first one ends. A span includes its start, but not its end. A span
 * that was never closed ends with its thread.
 */

/* Call once all threads have their final times and samples. */
void span_frames_finish(struct profile *p);
