/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sampled memory allocations and their frees. Part of the wire format. */
#pragma once

#include "bpf/record_head.h"

/* File name of prof's own library that reports allocations. */
#define ALLOC_SHIM_NAME "prof-alloc.so"

/* A block of memory allocated by rec.pid. */
struct rec_alloc {
	struct rec_sample sample; /* same as in a REC_SAMPLE, but weight and cpu_time are 0 */
	__u64 address; /* address in the process */
	__u64 size; /* bytes */
	__u64 weighted; /* bytes of all allocations represented by this one */
};

/* Frees the block sent with this address. Frees of blocks that were not sent may occur as well. */
struct rec_free {
	struct rec rec;
	__u64 address;
	__u64 size; /* bytes freed, perhaps of a larger block; 0: the whole block */
};
