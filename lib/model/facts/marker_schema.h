/* SPDX-License-Identifier: MIT */
/*
 * Constant schemas of markers and counters: names, where front-ends show them, and how private
 * their values are. markers.def and counters.def have a row for each schema that prof makes itself;
 * markers of programs and tracepoints use the same structs.
 */
#pragma once

#include "lib/base/base.h"

/* Type of a marker field's value. The numbers are part of the capture format. */
enum field_type {
	FIELD_NONE, /* no value: any field of a schema may be missing from a marker */
	FIELD_STRING,
	FIELD_INTEGER, /* signed */
	FIELD_BYTES,
	FIELD_DURATION, /* ns */
	FIELD_TIME, /* CLOCK_MONOTONIC ns */
	FIELD_PERCENTAGE, /* millionths of the whole */
	FIELD_STACK,
	FIELD_PROCESS_ID,
	FIELD_THREAD_ID,
	FIELD_TYPE_COUNT,
};

/* Places in which front-ends show markers. The numbers are part of the capture format. */
enum {
	SHOWN_IN_CHART = 1 << 0,
	SHOWN_IN_TABLE = 1 << 1,
	SHOWN_IN_OVERVIEW = 1 << 2, /* on the track of the thread */
	SHOWN_WITH_MEMORY = 1 << 3,
	SHOWN_WITH_IPC = 1 << 4,
	SHOWN_WITH_FILE_IO = 1 << 5,
	SHOWN_WITH_NETWORK = 1 << 6,
	SHOWN_ANYWHERE = (1 << 7) - 1,
};

/* Groups of markers without a category of their own, in the second byte of `shown`. */
enum marker_group {
	GROUP_NONE,
	GROUP_WAITS,
	GROUP_DISK,
	GROUP_SYSCALLS,
	GROUP_PROCESS,
	GROUP_SIGNALS,
	GROUP_OWN, /* markers of the recorder itself */
	GROUP_NETWORK,
	GROUP_COUNT,
};

#define SHOWN_GROUP_SHIFT 8
#define SHOWN_GROUP(group) ((uint32_t)(group) << SHOWN_GROUP_SHIFT)
#define SHOWN_GROUP_MASK SHOWN_GROUP(7)

/* Kinds of values, by which a profile is sanitized before sharing. */
enum value_kind {
	VALUE_UNKNOWN, /* never shared */
	VALUE_NUMBER, /* a number or a stack */
	VALUE_WORDS, /* the program's own words, or a name meant for others */
	VALUE_PATH,
	VALUE_FOLDER, /* kept only together with all other paths */
	VALUE_ARGUMENTS,
	VALUE_TASK, /* name of a thread or process */
	VALUE_MACHINE, /* describes this machine or other machines */
};

#define MARKER_SCHEMA_FIELDS_MAX 16

struct marker_schema_field {
	const char *key, *label;
	enum field_type type;
	enum value_kind value;
};

/* Strings are borrowed. Chart, table and tooltip use the label. */
struct marker_schema {
	const char *name, *label;
	uint32_t shown; /* SHOWN_…, and a group */
	bool stays; /* the marker is kept in every sanitized profile */
	/* Ends at the first field without a key. */
	struct marker_schema_field fields[MARKER_SCHEMA_FIELDS_MAX];
};

#define NO_FIELDS

enum marker_id {
#define MARKER(id, ...) MARKER_##id,
#include "lib/model/facts/markers.def"
	MARKER_ID_COUNT,
	MARKERS_OF_SESSION = MARKER_THROTTLED + 1,
};

/* Field numbers. */
#define FIELD(id, ...) id,
#define MARKER(id, name, label, shown, group, stays, ...) \
	enum { __VA_ARGS__ MARKER_##id##_FIELD_COUNT };
#include "lib/model/facts/markers.def"

const struct marker_schema *marker_schema(enum marker_id id);
/* Returns the schema with that name, or NULL if prof makes no such markers. */
const struct marker_schema *marker_schema_find(const char *name);

enum counter_graph {
	COUNTER_LEVEL, /* running sum, such as memory */
	COUNTER_RATE, /* amount per time, such as bytes read */
	COUNTER_GRAPH_COUNT,
};

struct counter_schema {
	const char *name, *category, *description, *unit, *color;
	enum counter_graph graph;
};

enum counter_kind {
#define COUNTER(id, ...) COUNTER_##id,
#define OLD_COUNTER(name)
#include "lib/model/facts/counters.def"
	COUNTER_KIND_COUNT,
	COUNTERS_OF_TASKS = COUNTER_WRITTEN + 1, /* first counter of the process, not of a task */
	COUNTERS_OF_PROCESS = COUNTER_MALLOC + 1, /* first counter of the machine */
};

const struct counter_schema *counter_schema(enum counter_kind kind);
/* True if prof makes, or has ever made, counters with that name. */
bool counter_is_own(const char *name);

/* Prefix of the names of schemas of user probes: "usdt PROVIDER:NAME". */
#define USDT_SCHEMA_PREFIX "usdt "
