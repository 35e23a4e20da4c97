// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/emit.bpf.h"

__noinline int send_aside(void)
{
	struct bpf_counters *count = own_counters();
	void *ring = own_ring();
	struct aside *aside = own_aside();
	__u64 from, to;

	if (!count || !ring || !aside)
		return 0;
	from = aside->sent;
	to = aside->used;
	barrier_var(from);
	barrier_var(to);
	if (from > ASIDE_BYTES || to <= from || to - from > ASIDE_BYTES)
		return 0;
	if (bpf_ringbuf_output(ring, (char *)aside->words + from, to - from, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&count->lost_samples, 1);
	aside->sent = to;
	barrier();
	if (__sync_val_compare_and_swap(&aside->used, to, 0) == to)
		aside->sent = 0;
	return 0;
}
