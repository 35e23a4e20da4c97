/* SPDX-License-Identifier: MIT */
/* Makes shards: maps of UNWIND_SHARD_BYTES with unwind tables for the kernel's walker. */
#ifndef PROF_LIB_LIVE_BPF_SHARD_H
#define PROF_LIB_LIVE_BPF_SHARD_H

#include <stdint.h>

/* Makes a mappable map of `size` bytes. Returns a descriptor, the caller's, or -errno. */
int shard_make(uint32_t size);

#endif
