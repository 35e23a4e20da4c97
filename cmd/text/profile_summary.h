/* SPDX-License-Identifier: MIT */
/* Summarizes a profile, and how far it can be trusted, in a few figures. */
#ifndef PROF_CMD_TEXT_PROFILE_SUMMARY_H
#define PROF_CMD_TEXT_PROFILE_SUMMARY_H

#include "lib/base/strbuf.h"
#include "lib/format/format.h"
#include "lib/model/tables/profile.h"
#include "lib/query/select.h"

/* Says where most of the time was spent, at the end of a recording. */

/* Writes a table of the ten functions with the most samples to stderr. */
void heaviest_print(const struct profile *p);

/* A line, safe to print; a second one where the file has what is not read. */
void profile_summary_text(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);
/* "not read: 2 markers, …" in a line; nothing if all was read. */
void profile_summary_unread(const struct import_counts *counts, struct strbuf *out);
/* A JSON object; null for what the profile does not say. */
void profile_summary_json(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);

#endif
