/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/slow_waits.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/markers.h"

/* In the order of the rows from MARKER_SLOW_CALL on. Initially, all are calls. */
enum kind {
	KIND_CALL,
	KIND_DISK,
	KIND_FAULT,
	KIND_LOCK,
	KIND_COUNT,
	KIND_NONE = KIND_COUNT,
};

_Static_assert(MARKER_SLOW_CALL + KIND_LOCK == MARKER_LOCK_WAIT, "the kinds are those rows");

static schema_id intern_schema(struct profile *p, enum kind kind)
{
	return schema_text_intern(marker_schema(MARKER_SLOW_CALL + kind), &p->markers.schemas,
				  &p->strings);
}

schema_id slow_waits_schema(struct profile *p)
{
	return intern_schema(p, KIND_CALL);
}

/* Returns the reason of a wait, given its label; KIND_NONE: nothing to show. */
static enum kind kind_of(const struct frame *label)
{
	static const uint8_t kinds[] = {
		[IDLE_OTHER] = KIND_CALL,  [IDLE_TIMER] = KIND_NONE,
		[IDLE_LOCK] = KIND_LOCK,   [IDLE_CONDITION] = KIND_NONE,
		[IDLE_DISK] = KIND_DISK,   [IDLE_FAULT] = KIND_FAULT,
		[IDLE_PIPE] = KIND_CALL,   [IDLE_SOCKET] = KIND_CALL,
		[IDLE_CHILD] = KIND_CALL,  [IDLE_PREEMPTED] = KIND_NONE,
		[IDLE_QUEUED] = KIND_NONE, [IDLE_FOR_WORK] = KIND_NONE,
	};

	return label->category == CATEGORY_IDLE && label->subcategory < sizeof(kinds)
		       ? (enum kind)kinds[label->subcategory]
		       : KIND_NONE;
}

static enum kind kind_of_marker(const struct profile *p, const struct marker *marker)
{
	stack_id stack = marker_cause(&p->markers, marker);

	if (stack == NO_STACK)
		return KIND_CALL;
	return kind_of(profile_frame_of(p, stack));
}

void slow_waits_classify(struct profile *p)
{
	schema_id slow = schema_text_find(MARKER_SLOW_CALL, &p->markers.schemas, &p->strings);
	schema_id schemas[KIND_COUNT] = {slow};

	/* A program's own markers may have the same name. */
	if (slow == NO_SCHEMA || slow_waits_schema(p) != slow)
		return;
	for (enum kind kind = KIND_DISK; kind < KIND_COUNT; kind++)
		schemas[kind] = intern_schema(p, kind);
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		size_t kept = 0;

		for (size_t i = 0; i < row->markers.count; i++) {
			struct marker marker = row->markers.items[i];
			enum kind kind = marker.schema == slow ? kind_of_marker(p, &marker)
							       : KIND_CALL;

			if (kind == KIND_NONE)
				continue;
			if (marker.schema == slow && schemas[kind] != NO_SCHEMA) {
				marker.schema = schemas[kind];
				marker.name = schemas_get(&p->markers.schemas, marker.schema)->name;
			}
			row->markers.items[kept++] = marker;
		}
		row->markers.count = kept;
	}
}
