/* SPDX-License-Identifier: MIT */
/*
 * Names generated code that runs no function, as that of regular expressions, when it is first
 * sampled: finds the code in the memory of its process, and the object that tells its name by a
 * search of the runtime's heap.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"
#include "lib/live/process/late_reader.h"
#include "lib/live/tracker.h"
#include "lib/stream/record/source.h"

struct stray_codes;

/*
 * `tracker` and `reader` are borrowed. Call before the first process is added. The caller frees it,
 * once the processes are released.
 */
struct stray_codes *stray_codes_new(struct tracker *tracker, struct late_reader *reader,
				    record_sink_fn *sink, void *ctx);
/* Accepts NULL. */
void stray_codes_free(struct stray_codes *s);
/* Follows a process with a runtime that has such code. The layout is copied. */
void stray_codes_follow(struct stray_codes *s, uint32_t pid, const struct runtime_layout *layout);
/* Looks for new code in a sample or stack. */
void stray_codes_see(struct stray_codes *s, const struct rec *rec);
