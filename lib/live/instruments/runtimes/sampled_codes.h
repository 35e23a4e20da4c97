/* SPDX-License-Identifier: MIT */
/*
 * Names the generated code of regular expressions and of WebAssembly when it is first sampled:
 * finds the code in the memory of its process, and an expression by a search of the runtime's heap.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"
#include "lib/live/process/late_reader.h"
#include "lib/live/tracker.h"
#include "lib/stream/record/records.h"

struct sampled_codes;

/*
 * `tracker` and `reader` are borrowed. Call before the first process is added. The caller frees it,
 * once the processes are released.
 */
struct sampled_codes *sampled_codes_new(struct tracker *tracker, struct late_reader *reader,
					record_sink_fn *sink, void *ctx);
/* Accepts NULL. */
void sampled_codes_free(struct sampled_codes *s);
/* Follows a process with a runtime that has such code. The layout is copied. */
void sampled_codes_follow(struct sampled_codes *s, uint32_t pid,
			  const struct runtime_layout *layout);
/* Looks for new code in a sample or stack. */
void sampled_codes_observe(struct sampled_codes *s, const struct rec *rec);
