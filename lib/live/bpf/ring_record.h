/* SPDX-License-Identifier: MIT */
/* Records from the rings: those of the wire and those of live_record.h. */
#ifndef PROF_LIB_LIVE_BPF_RING_RECORD_H
#define PROF_LIB_LIVE_BPF_RING_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/live_record.h"

/* record_is_valid() that also accepts the kinds that never leave the recorder. */
bool ring_record_is_valid(const struct rec *rec, size_t available);

#endif
