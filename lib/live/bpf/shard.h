/* SPDX-License-Identifier: MIT */
/* A shard: a map that the walker in the kernel reads unwind tables from, UNWIND_SHARD_BYTES each.
 */
#ifndef PROF_LIB_LIVE_BPF_SHARD_H
#define PROF_LIB_LIVE_BPF_SHARD_H

#include <stdint.h>

/* Makes one of that many bytes, which can be mapped. A descriptor, the caller's, or -errno. */
int shard_make(uint32_t size);

#endif
