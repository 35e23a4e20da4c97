/* SPDX-License-Identifier: MIT */
/*
 * Facts that a recording reports about itself: numbers and strings by id. Each fact has a row in
 * facts.def, which defines its place in --stats, in the info panel and in captures.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/model/facts/marker_probes.h"

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
