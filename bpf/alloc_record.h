/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sample of the allocations of memory, and their frees. Part of the wire format. */
#pragma once

#include "bpf/record_head.h"

/* File of the library that reports allocations: a part of prof. */
#define ALLOC_SHIM_NAME "prof-alloc.so"

/* A block of memory that rec.pid got. */
struct rec_alloc {
	struct rec_sample sample; /* same as in a REC_SAMPLE, but weight and cpu_time are 0 */
	__u64 address; /* address in the process */
	__u64 size; /* bytes */
	__u64 weighted; /* bytes of all allocations represented by this one */
};

/*
 * The process frees the block that was sent with that address. Frees of blocks that were not sent
 * may occur as well.
 */
struct rec_free {
	struct rec rec;
	__u64 address;
	__u64 size; /* bytes freed, perhaps of a larger block; 0: the whole block */
};
