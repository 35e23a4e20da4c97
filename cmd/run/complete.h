/* SPDX-License-Identifier: MIT */
/* Completes a profile after the last record: its meta, its names, its sources. */
#ifndef PROF_CMD_RUN_COMPLETE_H
#define PROF_CMD_RUN_COMPLETE_H

#include "cmd/options/output_options.h"
#include "cmd/run/symbolize_run.h"
#include "cmd/text/coverage.h"
#include "lib/base/readers.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"
#include "symbolize/source_texts.h"

struct completion {
	const struct recorder_info *info;
	struct report *report; /* rows of the instruments */
	enum recorder_unwind unwind;
	const struct symbolize_run_options *names; /* its output is that of everything here */
	/*
	 * Not NULL: the files were found again by name. Sources of files that belong to others are
	 * left out.
	 */
	const struct readers *strangers;
};

struct completed {
	struct coverage coverage;
	struct sources_stats sources;
};

/* The session has finished the profile. Release the coverage. */
void complete_profile(struct profile *p, const struct completion *c, struct completed *done);

#endif
