/* SPDX-License-Identifier: MIT */
/* What BPF objects have in common, see bpf/shared.bpf.h. */
#ifndef PROF_LIB_LIVE_BPF_SHARED_MAPS_H
#define PROF_LIB_LIVE_BPF_SHARED_MAPS_H

struct bpf_object;

/*
 * Lets an object that is open, but not loaded, use all maps of a loaded one that it has by the same
 * name. 0 or a negative errno.
 */
int share_maps(struct bpf_object *object, const struct bpf_object *loaded);

#endif
