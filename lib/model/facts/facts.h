/* SPDX-License-Identifier: MIT */
/* Kinds of markers, counters and facts, by tables with a row for each. */
#pragma once

#include "lib/base/base.h"

/*
 * Probes in the kernel whose records become markers of one schema, one per row:
 *
 *	ROW(name, NAME, SENT, "sent", TYPE, " of those", with)
 *
 * name      of the instrument and its BPF object. --stats counts records as "name.sent" and as
 *           "name.lost"
 * NAME      these facts are FACT_<NAME>_<SENT> and FACT_<NAME>_LOST
 * TYPE      of the programs whose stacks may show functions of runtimes: RAW tracepoints, TYPED
 *           tracepoints or PERF events; NONE: there are no such stacks
 * of those  says which stacks, in messages
 * with      is passed through
 */

#define MARKER_PROBES(ROW, with) \
	ROW(signals, SIGNALS, DELIVERED, "delivered", RAW, " of signals", with) \
	ROW(syscalls, SYSCALLS, RECORDED, "recorded", RAW, " of system calls", with) \
	ROW(io, IO, RECORDED, "recorded", RAW, " of I/O", with) \
	ROW(faults, FAULTS, RECORDED, "recorded", PERF, " of major faults", with) \
	ROW(net, NET, CONNECTIONS, "connections", RAW, " of connections", with) \
	ROW(jank, JANK, LONG_TASKS, "long_tasks", NONE, "", with)

/* Listed among waits, to which it belongs. */
#define WAKERS_PROBE(ROW, with) ROW(wakers, WAKERS, RECORDED, "told", TYPED, " of wakers", with)

/*
 * Facts that a recording reports about itself: numbers and strings by id. Each fact has a row in
 * facts.def, which defines its place in --stats, in the info panel and in captures.
 */

enum fact_id {
#define FACT(id, key, section, label, format, shared, origin) FACT_##id,
#include "lib/model/facts/facts.def"
	FACT_COUNT,
	FACT_NONE = FACT_COUNT, /* a row of another program's panel */
/* Ids of the facts of a probe, by probe name. */
#define PROBE_FACTS(name, NAME, SENT, ...) \
	FACT_SENT_##name = FACT_##NAME##_##SENT, FACT_LOST_##name = FACT_##NAME##_LOST,
	MARKER_PROBES(PROBE_FACTS, ) WAKERS_PROBE(PROBE_FACTS, )
#undef PROBE_FACTS
};

enum fact_format {
	FACT_FORMAT_COUNT,
	FACT_FORMAT_COUNT_UNLESS_0, /* a value of 0 gets no row in the panel */
	FACT_FORMAT_BYTES,
	FACT_FORMAT_MS, /* count of milliseconds */
	FACT_FORMAT_NS, /* count of nanoseconds; in --stats as milliseconds with three decimals */
	FACT_FORMAT_FLAG,
	FACT_FORMAT_REAL, /* percentage in the panel; 1 means 100 % */
	FACT_FORMAT_SHARE, /* like FACT_FORMAT_REAL, with six decimals */
	FACT_FORMAT_TEXT,
	FACT_FORMAT_JSON, /* JSON text, copied unchanged to --stats */
	FACT_FORMAT_OBJECT, /* no value: an object of --stats that may stay empty */
};

/* In the order of the panel. */
enum fact_section {
	FACT_SECTION_NONE,
	FACT_SECTION_RECORDING,
	FACT_SECTION_SETTINGS,
	FACT_SECTION_UNWINDING,
	FACT_SECTION_TABLES, /* printed at the end of the preceding section */
	FACT_SECTION_CODE,
	FACT_SECTION_LOSSES,
	FACT_SECTION_EVENTS,
	FACT_SECTION_SYMBOLS,
	FACT_SECTION_WAITS,
	FACT_SECTION_SOURCES,
};

enum fact_origin { FACT_LIVE, FACT_MADE, FACT_WRITTEN }; /* see facts.def */

struct fact_kind {
	const char *name; /* name of the id, for captures */
	const char *key, *label; /* "" if the fact has no key or label */
	enum fact_section section;
	enum fact_format format;
	enum fact_origin origin;
	bool is_harmless; /* row stays in a sanitized profile */
};

struct fact {
	enum fact_id id;
	char *of; /* subject that replaces "*"; NULL: none; owned */
	uint64_t count; /* a count, or bytes, ms or ns; 0 or 1 for a flag */
	double real;
	char *text; /* owned; NULL for numbers */
	bool is_hidden; /* omitted from the panel */
};

/* A zeroed struct is empty. */
struct facts {
	VEC(struct fact) rows; /* in order of insertion */
};

void facts_release(struct facts *f);

/*
 * Sets a fact, replacing an earlier value. `of` is the subject that replaces "*" in its row,
 * copied; NULL if there is none. The fact's format determines which of these functions to use.
 */
void facts_count(struct facts *f, enum fact_id id, const char *of, uint64_t count);
void facts_real(struct facts *f, enum fact_id id, const char *of, double real);
/* Copies the text. */
void facts_text(struct facts *f, enum fact_id id, const char *of, const char *text);
void facts_object(struct facts *f, enum fact_id id);
/* Hide the facts of this section so far, or one fact, from the panel. */
void facts_hide(struct facts *f, enum fact_section section);
void facts_hide_one(struct facts *f, enum fact_id id, const char *of, bool is_hidden);

/* Returns NULL if the fact was not set. */
const struct fact *facts_get(const struct facts *f, enum fact_id id, const char *of);
/* Returns 0 if the fact was not set. */
uint64_t facts_number(const struct facts *f, enum fact_id id);

const struct fact_kind *fact_kind(enum fact_id id);
/* Returns "Losses"; NULL for FACT_SECTION_NONE. */
const char *fact_section_title(enum fact_section section);
/* Returns the marker format of the fact's row in the panel: "integer". */
const char *fact_panel_format(enum fact_id id);
/* Appends the value as formatted in the panel. */
void fact_panel_value(const struct fact *fact, struct strbuf *out);

/*
 * Find a fact by the name of its id, by its key in --stats (object and member may be NULL), or by
 * its row in the panel. Return FACT_NONE if there is none. *of receives the subject that replaces
 * "*", borrowed from the text; NULL if the row has no "*".
 */
enum fact_id fact_by_name(const char *name);
enum fact_id fact_by_key(const char *object, const char *member, const char *key, const char **of);
enum fact_id fact_by_row(const char *section, const char *label, const char **of);

/*
 * Constant schemas of markers and counters: names, where front-ends show them, and how private
 * their values are. markers.def and counters.def have a row for each schema that prof makes itself;
 * markers of programs and tracepoints use the same structs.
 */

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
