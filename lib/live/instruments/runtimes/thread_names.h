/* SPDX-License-Identifier: MIT */
/*
 * Names that runtimes give to threads, read from their processes: soon after a thread has begun,
 * and now and then, as it may be renamed.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"
#include "lib/live/process/late_reader.h"
#include "lib/live/process/live_process.h"
#include "lib/stream/record/records.h"

struct thread_names;

/*
 * `processes` is borrowed. Call before the first process is added. The caller frees it, once the
 * processes are released.
 */
struct thread_names *thread_names_new(struct live_processes *processes);
/* Follows a process with a runtime that has names of threads. The layout is copied. */
void thread_names_follow(struct thread_names *n, uint32_t pid, uint64_t bias,
			 const struct runtime_layout *layout);
/* Sends REC_THREAD_NAME for new names. `time`: the start of this round. */
void thread_names_read(struct thread_names *n, struct late_reader *reader, uint64_t time,
		       record_sink_fn *sink, void *ctx);
