/* SPDX-License-Identifier: MIT */
/*
 * Records in, profile out: a pure function of the stream, which touches neither the machine nor a
 * file. It keeps processes with their mappings, resolves addresses to (module, file offset) with
 * the mappings that held at the sample's time, and interns frames and stacks.
 */
#ifndef PROF_LIB_SESSION_SESSION_H
#define PROF_LIB_SESSION_SESSION_H

#include "bpf/record.h"
#include "lib/profile/profile.h"

struct session;

/*
 * The profile is new, but for its meta: start_ns must be set, what began earlier starts there.
 */
struct session *session_new(struct profile *profile);
void session_free(struct session *s);

/*
 * Takes the next record of the stream (in order of time, valid as record_is_valid() has it).
 * Nothing in a record is an error; what cannot be placed is counted in profile->stats.
 */
void session_feed(struct session *s, const struct rec *rec);
/* End of the stream: samples that still wait are lost, threads get their final rows. */
void session_finish(struct session *s, uint64_t end_ns);

#endif
