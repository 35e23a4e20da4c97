/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by marker probes and the runtimes' programs that add frames to their stacks. */
#pragma once

#include "bpf/kernel.h"

/* Markers use at most a quarter of the room for copies; the rest is for samples. */
#define MARKER_COPY_BYTES (config.copy_bytes / 4)

#define MARKER_ENDS 2

/* Programs of the probe that make the markers once their stacks have been sent. */
struct marker_ends {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, MARKER_ENDS);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
};
