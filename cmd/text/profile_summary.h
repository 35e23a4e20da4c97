/* SPDX-License-Identifier: MIT */
/* Summarizes a profile and its reliability in a few figures. */
#pragma once

#include "lib/format/format.h"
#include "lib/model/tables/profile.h"
#include "lib/query/select.h"

/* Prints the first screen of prof report to stderr, at the end of a recording. */
void heaviest_print(const struct profile *p);

/* Prints one line, safe to print; a second one if parts of the file were not read. */
void profile_summary_text(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);
/* Prints one line, "not read: 2 markers, …"; nothing if everything was read. */
void profile_summary_unread(const struct import_counts *counts, struct strbuf *out);
/* Prints the first line without running and waiting times. */
void profile_summary_samples(const struct query *q, const struct import_counts *counts,
			     size_t width, struct strbuf *out);
/* Prints a JSON object, with null for values missing in the profile. */
void profile_summary_json(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);
