/* SPDX-License-Identifier: MIT */
/* A profile in one page of Markdown, for the summary of a job. */
#ifndef PROF_CMD_TEXT_JOB_SUMMARY_H
#define PROF_CMD_TEXT_JOB_SUMMARY_H

#include "cmd/options/report_options.h"

/* GitHub takes no more of a step. */
#define JOB_SUMMARY_MAX ((size_t)1000 << 10)

/*
 * Appends figures, processes, functions, losses, modules without names, and how to open the file.
 * Nothing of a name is markup. At most JOB_SUMMARY_MAX bytes.
 */
void job_summary(const struct query *q, const struct query_listing_options *options,
		 const char *path, struct strbuf *out);

#endif
