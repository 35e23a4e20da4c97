/* SPDX-License-Identifier: MIT */
/* Maps shared between BPF objects, see bpf/shared.bpf.h. */
#pragma once

#include "lib/base/base.h"

/* Makes shards: maps of UNWIND_SHARD_BYTES with unwind tables for the kernel's walker. */

/*
 * Makes a mappable map of `size` bytes. Returns a descriptor, which the caller owns, or a negative
 * errno.
 */
int shard_make(uint32_t size);

struct bpf_object;

/*
 * Makes an open object that is not loaded yet use the maps of a loaded one with the same names.
 * Returns 0 or a negative errno.
 */
int share_maps(struct bpf_object *object, const struct bpf_object *loaded);
/*
 * Sets the number of rows in the maps of copied stacks (copy.bpf.h) of an open object to `cpus`.
 * Returns 0 or a negative errno.
 */
int size_maps_by_cpu(struct bpf_object *object, uint32_t cpus);
