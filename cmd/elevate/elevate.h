/* SPDX-License-Identifier: MIT */
/*
 * Records for a user without privileges through a helper started by sudo. See
 * cmd/elevate/elevation.h.
 */
#pragma once

#include "cmd/options/pipeline_options.h"

/* Replaces pipeline_run() if privileges_are_missing(). Returns the exit status. */
int elevate_run(const struct pipeline_options *options);
