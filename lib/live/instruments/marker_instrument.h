/* SPDX-License-Identifier: MIT */
/*
 * Common part of instruments that send markers: schema, losses and report. Simple ones have an
 * option, and a BPF object whose records become markers of one schema; they have a row in
 * facts.h. For these, MARKER_OBJECT() and MARKER_INSTRUMENT() provide everything but the
 * preparation of the object and the description of a record.
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/bpf/programs_object.h"
#include "lib/live/instrument.h"
#include "lib/stream/record/marker_record.h"

/* Settings of such an instrument, by its option. */
struct marker_settings {
	bool is_wanted;
	uint64_t min_ns; /* minimum duration of a marker; 0: none */
};

/* The is_wanted() of struct instrument. */
bool marker_is_wanted(const void *settings);
/* The set() of struct instrument_option for an option without a value. */
int marker_want(void *settings, const char *value, struct error *err);
/*
 * Sets an option with a minimum length: ms, or NULL for the default. Returns 0 or -EINVAL with err.
 */
int marker_want_long(void *settings, const char *option, const char *value, uint64_t default_ns,
		     struct error *err);

/*
 * Sends the schema, to which markers refer by `id`, with the time of the beginning, however late it
 * is sent.
 */
void marker_announce(const struct live *live, const struct marker_schema *schema, uint32_t id);
/* Starts the marker of a record, at its time. `cause`: borrowed; NULL: none. */
struct marker_record marker_begin(uint32_t schema, const struct rec *rec,
				  const struct rec_marker_stack *cause);
void marker_send(const struct live *live, const struct marker_record *marker);
/* Sends a REC_LOST if the object has lost more records than `*before`, and updates that. */
void marker_count(const struct live *live, uint64_t lost, uint64_t *before, uint64_t time);

/* Facts about an instrument's markers. */
struct marker_facts {
	enum fact_id sent, lost;
};

/* Reports the feature `name`, these facts and a line of the summary. */
void marker_report(struct report *r, const char *name, const struct marker_facts *facts,
		   uint64_t sent, uint64_t lost);

struct marker_kind {
	const char *name; /* name of the object in the report */
	struct marker_facts facts;
	enum marker_id schema;
	/* Returns the object's variables, once it is open. */
	struct marker_variables *(*variables)(const void *state);
};

/*
 * Beginning of a simple instrument's state. All members are borrowed. Others, with a schema and
 * settings of their own, set only the kind; then enable(), pause(), count() and report() can be
 * used.
 */
struct marker_state {
	struct live *live;
	const struct marker_kind *kind;
	const struct marker_settings *settings;
	uint32_t schema;
	uint64_t added; /* number of markers made without a record of the object */
	uint64_t lost; /* number reported so far */
};

void marker_state_begin(struct marker_state *s, const struct marker_kind *kind,
			const void *settings);
/* Functions of struct instrument. */
void marker_state_announce(void *state);
int marker_state_enable(void *state, bool enable, struct error *err);
void marker_state_pause(void *state, bool pause);
void marker_state_count(void *state, uint64_t time);
void marker_state_report(const void *state, const struct record_tally *tally, struct report *r);

/*
 * Makes the functions that depend on types, variables_of_<name>() among them. `struct name` begins
 * with a marker_state and has the skeleton of the object `name` in its member `skeleton`. prepare()
 * and finish() as in PROGRAMS_OBJECT().
 */
#define MARKER_STATE_OBJECT(name_, prepare, finish) \
	PROGRAMS_OBJECT(struct name_, skeleton, name_##_bpf, prepare, finish) \
	static struct marker_variables *variables_of_##name_(const void *ctx) \
	{ \
		return &((const struct name_ *)ctx)->skeleton->bss->markers; \
	}

/* The same for a simple instrument, with begin_<name>(). */
#define MARKER_OBJECT(name_, schema_, prepare, finish) \
	MARKER_STATE_OBJECT(name_, prepare, finish) \
	static void begin_##name_(void *state, const void *settings) \
	{ \
		static const struct marker_kind kind = { \
			.name = #name_, \
			.facts = {FACT_SENT_##name_, FACT_LOST_##name_}, \
			.schema = schema_, \
			.variables = variables_of_##name_, \
		}; \
\
		marker_state_begin(state, &kind, settings); \
	}

/* Members of struct instrument that simple instruments have in common. */
#define MARKER_INSTRUMENT(name_) \
	.name = #name_, .settings_size = sizeof(struct marker_settings), \
	.is_wanted = marker_is_wanted, .state_size = sizeof(struct name_), .begin = begin_##name_, \
	.open_object = open_##name_##_bpf, .close_object = close_##name_##_bpf, \
	.announce = marker_state_announce, .count = marker_state_count, \
	.report = marker_state_report
