/* SPDX-License-Identifier: MIT */
/* Reports the method that found user stacks, and how the stacks ended. */
#ifndef PROF_CMD_TEXT_UNWINDING_H
#define PROF_CMD_TEXT_UNWINDING_H

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"

/*
 * Appends one line for people, without a newline: only shares that are not zero. Nothing if there
 * were no stacks.
 */
void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out);
/* Appends the share of whole stacks in a few words. Nothing if there were no stacks. */
void unwinding_summarize(enum recorder_unwind method, const struct profile_stats *stats,
			 struct strbuf *out);
#endif
