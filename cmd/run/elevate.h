/* SPDX-License-Identifier: MIT */
/* A recording by a user without privileges: a helper records, through sudo. See
 * cmd/run/elevation.h. */
#ifndef PROF_CMD_RUN_ELEVATE_H
#define PROF_CMD_RUN_ELEVATE_H

#include "cmd/run/pipeline.h"

/* In place of pipeline_run(), where privileges_are_missing(). The exit status. */
int elevate_run(const struct pipeline_options *options);

#endif
