/* SPDX-License-Identifier: MIT */
/* Losses of a recording for the summary, the profile's meta and --stats. */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"

/* True for a lost sample, false for an event about a process or a mapping. */
bool loss_is_sample(enum lost_cause cause);
/* Returns the number of lost samples, or events, over all causes with known numbers. */
uint64_t losses_count(const struct profile_stats *stats, bool samples);
/* True if no sample of any event and no event about a process or a mapping was lost. */
bool losses_are_none(const struct profile *p);
/* Appends "ring-full 12, stack 3": the causes that occurred. */
void losses_describe(const struct profile_stats *stats, bool samples, struct strbuf *out);
