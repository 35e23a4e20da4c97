/* SPDX-License-Identifier: MIT */
/* Runs a recording from start to finished file. The only file that depends on every room. */
#pragma once

#include "cmd/options/pipeline_options.h"

/* Records, writes and reports. Returns the exit status; failures have been reported. */
int pipeline_run(const struct pipeline_options *options);
