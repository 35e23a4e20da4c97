/* SPDX-License-Identifier: MIT */
/* Advice for a recording with few samples or with code without names. */
#ifndef PROF_CMD_TEXT_ADVICE_H
#define PROF_CMD_TEXT_ADVICE_H

#include "cmd/text/summary.h"
#include "lib/base/strbuf.h"

/* Appends one line, or nothing if there are enough samples. */
void advice_on_samples(const struct outcome *outcome, struct strbuf *out);
/*
 * Appends one line about the module with the most samples in code without names, and a remedy.
 * Nothing if that is less than a twentieth of the samples.
 */
void advice_on_names(const struct profile *p, struct strbuf *out);

#endif
