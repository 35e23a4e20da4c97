// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/user.bpf.h"

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"

__noinline bool ids_are_told(struct tracked_process *process, struct rec *like, __u64 ids)
{
	struct bpf_counters *count;
	struct rec_user *rec;

	if (!process || !like)
		return false;
	if (process->user == ~ids)
		return true;
	count = own_counters();
	if (!count)
		return false;
	rec = emit_reserve(count, own_ring(), REC_USER, sizeof(*rec), like->time);
	if (!rec)
		return false;
	rec->rec.pid = like->pid;
	rec->rec.tid = like->tid;
	rec->uid = ids;
	rec->gid = ids >> 32;
	emit_submit(rec, BPF_RB_NO_WAKEUP);
	/* Remember only ids that are in the ring. */
	process->user = ~ids;
	return true;
}

__noinline bool user_is_told(struct tracked_process *process, struct rec *like)
{
	return ids_are_told(process, like, bpf_get_current_uid_gid());
}
