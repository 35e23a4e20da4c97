/* SPDX-License-Identifier: MIT */
/*
 * What instruments say of a recording, as data that cmd prints: lines of the summary, keys of
 * --stats, rows of the front-end's info panel. Rows of instruments stand between those of others,
 * so a row says which one it follows; without that it follows the row that was added before it.
 */
#ifndef PROF_LIB_LIVE_REPORT_H
#define PROF_LIB_LIVE_REPORT_H

#include <stdint.h>

#include "lib/base/vec.h"

/* Fate of an event's records: the recorder does not see it. */
struct event_tally {
	uint64_t samples; /* in the profile */
	uint64_t weight; /* occurrences that these stand for */
	uint64_t lost;
	uint64_t throttled, throttled_ns; /* how often the kernel stopped it, and for how long */
};

struct record_tally {
	uint64_t ticks; /* of the clock: in the profile, or known lost */
	uint64_t throttled_ticks; /* that never came, as the kernel had stopped the clock */
	const struct event_tally *events; /* by number */
	uint32_t event_count;
};

enum report_type {
	REPORT_INTEGER,
	REPORT_MS, /* integer in ns; shown in ms with three decimals */
	REPORT_REAL,
	REPORT_TEXT,
	REPORT_OBJECT, /* no value: an object that may stay empty */
};

/* A key of --stats: of its top level, or of an object there, or of an object in that. */
struct report_stat {
	const char *after; /* NULL: behind the row before */
	const char *object, *member,
		*key; /* borrowed; object and member: NULL where there is none */
	enum report_type type;
	uint64_t integer;
	double real;
	char *text;
};

/* A row of the info panel, as profile_add_extra() takes them. */
struct report_extra {
	const char *after; /* a label; NULL: behind the row before */
	const char *section, *label, *format; /* borrowed */
	char *text;
};

/* Zeroed it is empty. */
struct report {
	VEC(char *) features; /* of the profile's meta: what it was recorded with */
	VEC(char *) lines; /* of the summary */
	VEC(char *) warnings;
	VEC(struct report_stat) stats;
	VEC(struct report_extra) extras;
	const char *object, *member; /* where the next stats go */
};

void report_release(struct report *r);

static inline void report_release_cleanup(struct report *r)
{
	report_release(r);
}

/* Text is copied. */
void report_feature(struct report *r, const char *name);
void report_line(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_warning(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The stats that follow are in this object, or in that member of it; NULL: at the top again. */
void report_enter(struct report *r, const char *object, const char *member);
void report_object(struct report *r, const char *after, const char *key);
void report_integer(struct report *r, const char *after, const char *key, uint64_t value);
void report_ms(struct report *r, const char *after, const char *key, uint64_t ns);
void report_real(struct report *r, const char *after, const char *key, double value);
void report_text(struct report *r, const char *after, const char *key, const char *text);

void report_extra_text(struct report *r, const char *after, const char *section, const char *label,
		       const char *text);
/* `format` is the front-end's: "integer", "bytes". */
void report_extra_number(struct report *r, const char *after, const char *section,
			 const char *label, const char *format, uint64_t value);

#endif
