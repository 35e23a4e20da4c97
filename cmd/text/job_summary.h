/* SPDX-License-Identifier: MIT */
/* A profile as one page of Markdown for a CI job's summary. */
#pragma once

#include "cmd/text/first_screen.h"

/* GitHub's limit for a step. */
#define JOB_SUMMARY_MAX ((size_t)1000 << 10)

/*
 * Appends figures, the first screen, processes, losses, modules without names, and how to open the
 * file. Escapes names. At most JOB_SUMMARY_MAX bytes.
 */
void job_summary(const struct query *q, const struct first_screen_options *options,
		 const char *path, struct strbuf *out);
