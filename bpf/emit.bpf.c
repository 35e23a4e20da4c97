// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/emit.bpf.h"

__noinline int send_aside(void)
{
	void *ring = own_ring();
	struct aside *aside = own_aside();
	__u64 from, to;

	if (!ring || !aside)
		return 0;
	from = aside->sent;
	to = aside->used;
	barrier_var(from);
	barrier_var(to);
	if (from > ASIDE_BYTES || to <= from || to - from > ASIDE_BYTES)
		return 0;
	/* Without room they stay: a stack among them counts as sent. */
	if (bpf_ringbuf_output(ring, (char *)aside->words + from, to - from, BPF_RB_NO_WAKEUP))
		return 0;
	aside->sent = to;
	barrier();
	if (__sync_val_compare_and_swap(&aside->used, to, 0) == to)
		aside->sent = 0;
	return 0;
}
