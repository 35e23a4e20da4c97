/* SPDX-License-Identifier: MIT */
/*
 * Turns records of any source into a finished profile:
 *
 * begin ─► take, take, … ─► finish ─► complete
 *
 * A live recording passes its records one by one; recording_load() does all of it for a file of
 * records.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_forecast.h"
#include "lib/recording/coverage.h"
#include "lib/recording/recording_facts.h"
#include "lib/recording/source_kind.h"
#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/naming.h"
#include "lib/stream/session/session.h"
#include "symbolize/source_texts.h"

/* A zeroed struct is empty. */
struct recording {
	struct profile *profile; /* owned; NULL before the recording begins */
	/* NULL before and after the recording, or if records are only counted */
	struct session *session;
	/* Keep all rows and markers; set before the recording begins. */
	bool is_unlimited;
	struct recording_facts facts;
	struct read_contents contents; /* contents of files in the records */
	struct source_counts counts; /* counts of recording_load() */
	struct timelines lines; /* lines of the finished recording, until it is completed */
	/* Set by recording_complete(). */
	struct coverage coverage;
	struct sources_stats sources;
	uint64_t names_ns, sources_ns; /* time spent on names and on source files */
};

/* Frees nothing if threads were left behind. */
void recording_release(struct recording *r);

/*
 * Takes ownership of the profile, whose meta is set. `only_counts`: count records without a
 * session.
 */
void recording_begin(struct recording *r, struct profile *p, bool only_counts);
/* Takes a valid record. */
void recording_take(struct recording *r, const struct rec *rec);
/* See session_begin_epoch(). */
void recording_begin_epoch(struct recording *r, uint64_t time_ns);
/* Ends the session at end_ns, and adds the runs in the facts. */
void recording_finish(struct recording *r, uint64_t end_ns);

struct completion {
	const struct naming *naming; /* NULL: leave addresses unnamed */
	const struct sources_options *sources; /* NULL: leave out source files */
	bool keeps_timelines; /* keep them for further predictions */
};

/* Completes the finished profile: facts, names, coverage, source files. */
void recording_complete(struct recording *r, const struct completion *c);

struct recording_options {
	struct source_part part;
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated */
	bool no_symbols;
	struct name_cache *cache; /* cache of names across profiles; NULL: none */
	bool keeps_unpacked; /* as in struct naming */
	bool no_limit; /* keep all rows and markers, even more than front-ends can show */
	bool sources;
	/* Receives messages about damaged or missing parts. */
	void (*say)(const char *line);
	/* Sets the progress callbacks; may be NULL. */
	void (*progress)(void *ctx, struct naming *naming, struct sources_options *sources);
	void *ctx;
};

/*
 * Loads a file of that kind: reads, completes and names its profile. `label` is the file's name in
 * messages. Looks for the recorded files by their paths and in `dirs`. A truncated source yields
 * its readable part, with a message. Returns -EBADMSG if it cannot be read, -ENODATA if it is
 * empty.
 */
int recording_load(struct recording *r, const struct source_kind *kind, int fd, const char *label,
		   const struct recording_options *options, struct error *err);
