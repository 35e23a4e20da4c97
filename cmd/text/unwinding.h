/* SPDX-License-Identifier: MIT */
/* Reports the method that found user stacks, and how the stacks ended. */
#ifndef PROF_CMD_TEXT_UNWINDING_H
#define PROF_CMD_TEXT_UNWINDING_H

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* Returns "auto", "cfi", "fp" or "none", the values of --unwind. */
const char *unwinding_name(enum recorder_unwind method);
/* Returns 0, or -EINVAL for any other name. */
int unwinding_parse(const char *name, enum recorder_unwind *method);

/*
 * Returns the number of ticks whose stack can be whole: not lost, and of tasks with a user side.
 * The percentages below refer to it.
 */
uint64_t unwinding_stacks(const struct profile_stats *stats);
/*
 * Appends one line for people, without a newline: only shares that are not zero. Nothing if there
 * were no stacks.
 */
void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out);
/* Appends the share of whole stacks in a few words. Nothing if there were no stacks. */
void unwinding_summarize(enum recorder_unwind method, const struct profile_stats *stats,
			 struct strbuf *out);
/* Tells the method and the shares of all stacks. */
void unwinding_tell(struct facts *f, const struct profile_stats *stats,
		    enum recorder_unwind method);

#endif
