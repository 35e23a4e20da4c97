/* SPDX-License-Identifier: MIT */
/* The receiver of records. */
#ifndef PROF_LIB_STREAM_RECORD_SINK_H
#define PROF_LIB_STREAM_RECORD_SINK_H

#include "bpf/record.h"

/* The record is valid during the call only. */
typedef void record_sink_fn(void *ctx, const struct rec *rec);

#endif
