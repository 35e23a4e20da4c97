/* SPDX-License-Identifier: MIT */
/*
 * Turns records into a profile. A pure function of the stream: touches neither the machine nor a
 * file. Tracks processes and their mappings, resolves addresses to (module, file offset) with the
 * mappings at the sample's time, and interns frames and stacks.
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/path/thread_timelines.h"

struct session;

/* The profile is empty except for its meta. start_ns must be set; earlier times are moved to it. */
struct session *session_new(struct profile *profile);
/* Lifts the limits on rows and markers, which exist for front-ends. */
void session_set_unlimited(struct session *s);
/*
 * Calls meanwhile(ctx) a few times a second while the memory of a long recording is reclaimed:
 * within session_feed(), once its record is no longer in use.
 */
void session_set_meanwhile(struct session *s, void (*meanwhile)(void *ctx), void *ctx);
void session_free(struct session *s);
/* Returns the lives of the threads of a finished session, which the caller releases. */
struct timelines session_take_timelines(struct session *s);

/*
 * Takes the next record of the stream, in order of time and checked by record_is_valid(). No record
 * is an error; unusable ones are counted in profile->stats.
 */
void session_feed(struct session *s, const struct rec *rec);
/* Takes a record that repeats earlier state, in any order of time. */
void session_feed_state(struct session *s, const struct rec *rec);
/*
 * The recorder resends stacks from time_ns (CLOCK_MONOTONIC) on: stacks of earlier epochs are
 * dropped a few seconds later.
 */
void session_begin_epoch(struct session *s, uint64_t time_ns);
/* Ends the stream: waiting samples are lost, threads get their final rows. */
void session_finish(struct session *s, uint64_t end_ns);

/*
 * Moves rows and names collected so far to the threads while the stream goes on. Open waits have
 * rows up to until_ns; all earlier records must have arrived. CPU times of samples are not final.
 */
void session_advance(struct session *s, uint64_t until_ns);
/*
 * Keeps the ids of stacks and frames stable, as session_drop_rows() requires. Call it before the
 * first record.
 */
void session_keep_stacks(struct session *s);
/* Drops rows of samples and markers once the caller has taken them. */
void session_drop_rows(struct session *s);
/* True if the filters let the thread's process pass. */
bool session_wants_thread(struct session *s, thread_id id);
/* Names frames of generated code in a profile that has the session's modules. */
void session_name_code(struct session *s, struct profile *p);
