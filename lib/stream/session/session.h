/* SPDX-License-Identifier: MIT */
/*
 * Turns records into a profile. A pure function of the stream: touches neither the machine nor a
 * file. Keeps processes with their mappings, resolves addresses to (module, file offset) with the
 * mappings of the sample's time, and interns frames and stacks.
 */
#ifndef PROF_LIB_STREAM_SESSION_SESSION_H
#define PROF_LIB_STREAM_SESSION_SESSION_H

#include "bpf/record.h"
#include "lib/model/tables/profile.h"

struct session;

/* The profile is empty except for its meta. start_ns must be set; earlier times are moved to it. */
struct session *session_new(struct profile *profile);
/* Lets the profile have all rows and markers, also more than front-ends show. */
void session_set_unlimited(struct session *s);
/*
 * Calls meanwhile(ctx) some times a second while memory of a long recording is reclaimed: within
 * session_feed(), whose record is not used any more by then.
 */
void session_set_meanwhile(struct session *s, void (*meanwhile)(void *ctx), void *ctx);
void session_free(struct session *s);

/*
 * Takes the next record of the stream, in order of time and checked by record_is_valid(). No record
 * is an error; unusable ones are counted in profile->stats.
 */
void session_feed(struct session *s, const struct rec *rec);
/* Takes a record that repeats what was before, in any order of time. */
void session_feed_state(struct session *s, const struct rec *rec);
/*
 * The recorder sends stacks anew from now on (CLOCK_MONOTONIC ns): what was sent in earlier epochs
 * is forgotten, some seconds later.
 */
void session_begin_epoch(struct session *s, uint64_t time_ns);
/* Ends the stream: waiting samples are lost, threads get their final rows. */
void session_finish(struct session *s, uint64_t end_ns);

/*
 * While the stream goes on: gives threads their rows and names so far. Waits that go on have rows
 * up to until_ns, of which all is known. CPU times of samples are not known.
 */
void session_advance(struct session *s, uint64_t until_ns);
/*
 * Lets stacks and frames keep their numbers, as session_drop_rows() needs it. Call it before the
 * first record.
 */
void session_keep_stacks(struct session *s);
/* Afterwards: drops rows of samples and markers, which somebody has taken. */
void session_drop_rows(struct session *s);
/* Did the filters pass the thread's process? */
bool session_wants_thread(struct session *s, thread_id id);
/* Names frames of code that runtimes made, in a profile whose modules are those of the session. */
void session_name_code(struct session *s, struct profile *p);

#endif
