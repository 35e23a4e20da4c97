// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/user.bpf.h"

/* If a tick interrupts a writer, the sample is put aside as well. */
#define EMIT_LEAVES_ASIDE
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"

__noinline bool ids_are_told(struct tracked_process *process, struct rec *like, __u64 ids)
{
	struct bpf_counters *count;
	void *ring;
	struct rec_user rec = {.uid = ids, .gid = ids >> 32};

	if (!process || !like)
		return false;
	if (process->user == ~ids)
		return true;
	count = own_counters();
	ring = own_ring();
	if (!count || !ring)
		return false;
	rec_init(&rec.rec, REC_USER, sizeof(rec), like->time);
	rec.rec.pid = like->pid;
	rec.rec.tid = like->tid;
	if (!emit_output(count, ring, &rec, sizeof(rec), BPF_RB_NO_WAKEUP))
		return false;
	/* Remember only ids that were sent. */
	process->user = ~ids;
	return true;
}

__noinline bool user_is_told(struct tracked_process *process, struct rec *like)
{
	return ids_are_told(process, like, bpf_get_current_uid_gid());
}
