/* SPDX-License-Identifier: MIT */
/* The receiver of records. */
#pragma once

#include "bpf/record.h"

/* The record is valid during the call only. */
typedef void record_sink_fn(void *ctx, const struct rec *rec);
