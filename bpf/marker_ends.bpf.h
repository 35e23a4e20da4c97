/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by probes of markers and the runtimes' programs that add frames to their stacks. */
#pragma once

#include "bpf/kernel.h"

/* A quarter of the room for copies at most; the rest is for samples. */
#define MARKER_COPY_BYTES (config.copy_bytes / 4)

#define MARKER_ENDS 2

/* Programs of the probe that make markers after their stacks were sent. */
struct marker_ends {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, MARKER_ENDS);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
};
