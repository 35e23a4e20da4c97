/* SPDX-License-Identifier: MIT */
/* Builds the REC_SCHEMA of a kind of markers, for sources whose schemas are fixed. */
#ifndef PROF_LIB_STREAM_RECORD_SCHEMA_RECORD_H
#define PROF_LIB_STREAM_RECORD_SCHEMA_RECORD_H

#include "bpf/record.h"
#include "lib/model/facts/marker_schema.h"

/* The caller frees the record. Markers refer to it by `id`. */
struct rec_schema *schema_record_new(const struct marker_schema *from, __u32 id, __u64 time);

#endif
