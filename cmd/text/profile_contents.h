/* SPDX-License-Identifier: MIT */
/* Contents of a profile: counts of its samples, events and markers, and all of it as JSON. */
#pragma once

#include "lib/format/format.h"

struct event_contents {
	const char *name, *unit; /* borrowed */
	uint64_t samples, weight;
};

struct profile_contents {
	uint64_t samples, weight; /* of the clock, without waits */
	uint64_t without_stack; /* samples of all events */
	VEC(struct event_contents) events; /* other than the clock, with samples; allocations */
	uint64_t *markers; /* by schema_id; owned */
};

void profile_contents_count(struct profile_contents *c, const struct profile *p);
void profile_contents_release(struct profile_contents *c);
/* Appends an object. `file` and `format` describe where the profile was read from. */
void profile_contents_json(const struct profile *p, const char *file, const char *format,
			   const struct import_counts *unread, struct strbuf *out);
