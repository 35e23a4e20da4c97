/* SPDX-License-Identifier: MIT */
/* The critical path of a profile in two lines. */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Appends "critical path: 1.43 s: cc1 77.0 %, waited for a CPU 4.1 %" to `first`, and the user's
 * functions with the most time on it to `second`, which may stay empty. False: there is no path.
 */
bool path_summary_text(const struct profile *p, struct strbuf *first, struct strbuf *second);
/*
 * Appends lines on parallelism, and on changes that would shorten the command. Appends nothing if
 * the recording is too large for predictions.
 */
void path_summary_forecasts(const struct profile *p, struct strbuf *out);
/* Appends the times of the path's kinds of parts, and predictions, as a JSON object. */
void path_summary_json(const struct profile *p, struct strbuf *out);
