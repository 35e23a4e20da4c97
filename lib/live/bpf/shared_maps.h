/* SPDX-License-Identifier: MIT */
/* Maps shared between BPF objects, see bpf/shared.bpf.h. */
#ifndef PROF_LIB_LIVE_BPF_SHARED_MAPS_H
#define PROF_LIB_LIVE_BPF_SHARED_MAPS_H

#include <stdint.h>

/* Makes shards: maps of UNWIND_SHARD_BYTES with unwind tables for the kernel's walker. */

/* Makes a mappable map of `size` bytes. Returns a descriptor, the caller's, or -errno. */
int shard_make(uint32_t size);

struct bpf_object;

/*
 * Makes an open, not yet loaded object use the maps of a loaded one with the same names. 0 or a
 * negative errno.
 */
int share_maps(struct bpf_object *object, const struct bpf_object *loaded);
/* Gives the maps of copied stacks (copy.bpf.h) of an open object `cpus` rows. 0 or -errno. */
int size_maps_by_cpu(struct bpf_object *object, uint32_t cpus);

#endif
