/* SPDX-License-Identifier: MIT */
/* What is said of user stacks: by which method they were found, and how they ended. */
#ifndef PROF_CMD_TEXT_UNWINDING_H
#define PROF_CMD_TEXT_UNWINDING_H

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* "auto", "cfi", "fp" or "none": what --unwind takes. */
const char *unwinding_name(enum recorder_unwind method);
/* 0, or -EINVAL: it is none of these. */
int unwinding_parse(const char *name, enum recorder_unwind *method);

/*
 * Ticks whose stack can be whole: those of tasks that had a user side, and that were not lost. The
 * percentages below are of them.
 */
uint64_t unwinding_stacks(const struct profile_stats *stats);
/*
 * Appends one line for people, without a newline: only what is not zero. Nothing where there were
 * no stacks.
 */
void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out);
/* The same in a few words: how many are whole. Nothing where there were no stacks. */
void unwinding_summarize(enum recorder_unwind method, const struct profile_stats *stats,
			 struct strbuf *out);
/* All of it for the front-end's info panel. */
void unwinding_add_extra(struct profile *p, enum recorder_unwind method);

#endif
