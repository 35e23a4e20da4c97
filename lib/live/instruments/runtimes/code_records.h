/* SPDX-License-Identifier: MIT */
/* Functions of runtimes → code records. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_CODE_RECORDS_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_CODE_RECORDS_H

#include "lib/stream/record/sink.h"
#include "lib/code/runtimes/runtime.h"

/*
 * Sends the function's code: one record, or several for consecutive ranges of its positions if it
 * has more lines than fit into one.
 */
void send_code_records(const struct runtime *runtime, const struct rec_function *function,
		       const struct managed_code *code, record_sink_fn *sink, void *ctx);

#endif
