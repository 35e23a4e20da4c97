/* SPDX-License-Identifier: MIT */
/* What a recording lost, for the summary, the profile's meta and --stats alike. */
#ifndef PROF_CMD_TEXT_LOSS_COUNTS_H
#define PROF_CMD_TEXT_LOSS_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/strbuf.h"
#include "lib/profile/profile.h"

/* A sample is lost, and not an event about a process or a mapping? */
bool loss_is_sample(enum lost_cause cause);
/* Samples known lost, or events, over all causes. */
uint64_t losses_count(const struct profile_stats *stats, bool samples);
/* Is nothing lost: no sample, of any event, and no event about a process or a mapping? */
bool losses_are_none(const struct profile *p);
/* "ring-full 12, stack 3": the causes that occurred. */
void losses_describe(const struct profile_stats *stats, bool samples, struct strbuf *out);

#endif
