/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that wait until this CPU's ring may be written; see emit.bpf.h. */
#pragma once

#include "bpf/kernel.h"

/* Room for some ticks with new stacks. */
#define ASIDE_BYTES 8192

struct aside {
	__u64 writer; /* task that writes the ring, as a number; 0: none */
	__u64 used, sent; /* bytes of `words` in use, and bytes already sent */
	__u64 words[2 * ASIDE_BYTES / 8]; /* the second half only satisfies the verifier */
};

struct asides {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct aside);
};

extern struct asides asides SEC(".maps");

static __always_inline struct aside *own_aside(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&asides, &zero);
}

/* Keeps a record that must not be written now. Returns 0; other values: no room. */
static __always_inline long put_aside(struct aside *aside, const void *rec, __u32 size)
{
	__u64 at;

	if (size > ASIDE_BYTES)
		return -1;
	/* If this program runs in an interrupt, an NMI may interrupt it here. */
	at = __sync_fetch_and_add(&aside->used, size);
	barrier_var(at);
	if (at <= ASIDE_BYTES && at + size <= ASIDE_BYTES)
		return bpf_probe_read_kernel((char *)aside->words + at, size, rec);
	__sync_fetch_and_sub(&aside->used, size);
	return -1;
}
