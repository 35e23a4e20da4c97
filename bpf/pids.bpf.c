// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pids in the recorder's namespace. A global function, so the verifier checks it once for all
 * callers.
 */
#include "bpf/filter.bpf.h"

/*
 * Returns the number of a struct pid in the recorder's pid namespace; 0: it has none. The address
 * is passed as a number, because kernels before 6.2 forbid arithmetic on pointers of a known type.
 */
static __always_inline __u32 pid_number(__u64 address)
{
	const struct pid *pid = (const struct pid *)address;
	struct upid upid = {};
	const void *at;

	if (!pid || BPF_CORE_READ(pid, level) < own_pid_level)
		return 0;
	at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
	     own_pid_level * bpf_core_type_size(struct upid);
	if (bpf_probe_read_kernel(&upid, bpf_core_type_size(struct upid), at))
		return 0;
	return BPF_CORE_READ(upid.ns, ns.inum) == config.pid_inode ? upid.nr : 0;
}

static __always_inline __u32 remembered_tid(__u32 initial)
{
	__u32 *own = bpf_map_lookup_elem(&own_tids, &initial);

	return own ? *own : 0;
}

__noinline __u64 own_pids(__u64 process_pid, __u64 thread_pid, __u32 tgid, __u32 pid)
{
	__u32 process = pid_number(process_pid), thread = pid_number(thread_pid);

	if (!process)
		process = remembered_tid(tgid);
	if (!thread)
		thread = remembered_tid(pid);
	if (!thread)
		thread = process;
	return (__u64)process << 32 | thread;
}
