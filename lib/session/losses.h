/* SPDX-License-Identifier: MIT */
/* What the recording lost or was kept from, by CPU and time. */
#ifndef PROF_LIB_SESSION_LOSSES_H
#define PROF_LIB_SESSION_LOSSES_H

#include "bpf/record.h"
#include "lib/profile/profile.h"

struct loss_series;

struct losses {
	struct profile *profile;
	VEC(struct marker) markers;
	VEC(struct loss_series) series; /* the last marker of each cause and CPU */
};

void losses_init(struct losses *l, struct profile *profile);
void losses_release(struct losses *l);
/* `time` is the record's, in the profile. */
void losses_add(struct losses *l, const struct rec_lost *rec, uint64_t time);
void losses_throttled(struct losses *l, const struct rec_throttled *rec, uint64_t time);
/*
 * Losses belong to no thread. They are shown on the first one of the recording, which is nearly
 * always the main thread of the recorded command.
 */
void losses_finish(struct losses *l);

#endif
