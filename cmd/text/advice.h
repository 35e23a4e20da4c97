/* SPDX-License-Identifier: MIT */
/* Advice for a recording with too few samples, or code without names. */
#ifndef PROF_CMD_TEXT_ADVICE_H
#define PROF_CMD_TEXT_ADVICE_H

#include "cmd/text/summary.h"
#include "lib/base/strbuf.h"

/* Appends one line, or nothing where there were samples enough. */
void advice_on_samples(const struct outcome *outcome, struct strbuf *out);
/*
 * Appends one line about the module whose nameless code is in the most samples, and what gives it
 * names; nothing where that is in less than a twentieth of them.
 */
void advice_on_names(const struct profile *p, struct strbuf *out);

#endif
