/* SPDX-License-Identifier: MIT */
/*
 * Reports of instruments on a recording, as data that cmd prints: lines of the summary, keys of
 * --stats, rows of the front-end's info panel. Each row names the row that it follows; without a
 * name it follows the row added before it.
 */
#ifndef PROF_LIB_LIVE_REPORT_H
#define PROF_LIB_LIVE_REPORT_H

#include <stdint.h>

#include "lib/base/vec.h"

/* Fate of an event's records, which the recorder does not see. */
struct event_tally {
	uint64_t samples; /* in the profile */
	uint64_t weight; /* occurrences that they stand for */
	uint64_t lost;
	/* Number and length of the kernel's pauses of the event. */
	uint64_t throttled, throttled_ns;
};

struct record_tally {
	uint64_t ticks; /* of the clock: in the profile, or known to be lost */
	/* Ticks that never came because the kernel had stopped the clock. */
	uint64_t throttled_ticks;
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

/* A key of --stats at the top level, in an object, or in a member of an object. */
struct report_stat {
	const char *after; /* NULL: the row before */
	const char *object, *member, *key; /* borrowed; object and member may be NULL */
	enum report_type type;
	uint64_t integer;
	double real;
	char *text;
};

/* A row of the info panel, for profile_add_extra(). */
struct report_extra {
	const char *after; /* a label; NULL: the row before */
	const char *section, *label, *format; /* borrowed */
	char *text;
};

/* Zeroed is empty. */
struct report {
	VEC(char *) features; /* for the profile's meta: what it was recorded with */
	VEC(char *) lines; /* for the summary */
	VEC(char *) warnings;
	VEC(struct report_stat) stats;
	VEC(struct report_extra) extras;
	const char *object, *member; /* object for the next stats */
};

void report_release(struct report *r);

static inline void report_release_cleanup(struct report *r)
{
	report_release(r);
}

/* Copies the text. */
void report_feature(struct report *r, const char *name);
void report_line(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_warning(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts later stats into this object, or this member of it; NULL: back to the top level. */
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
