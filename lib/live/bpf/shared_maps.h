/* SPDX-License-Identifier: MIT */
/* Maps shared between BPF objects, see bpf/shared.bpf.h. */
#ifndef PROF_LIB_LIVE_BPF_SHARED_MAPS_H
#define PROF_LIB_LIVE_BPF_SHARED_MAPS_H

struct bpf_object;

/*
 * Makes an open, not yet loaded object use the maps of a loaded one with the same names. 0 or a
 * negative errno.
 */
int share_maps(struct bpf_object *object, const struct bpf_object *loaded);

#endif
