/* SPDX-License-Identifier: MIT */
/* Names frames in anonymous memory after the code that lay there when they were sampled. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/stream/session/code/code_table.h"

/*
 * Call once all samples and all code have arrived. Notes in each process whether its generated code
 * had a map.
 */
void code_frames_name(struct profile *p, struct code_table *table,
		      const struct process_table *processes);
