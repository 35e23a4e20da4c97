// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the arguments and working folder of a program at its exec: many processes end before user
 * space can read /proc.
 */
#include "bpf/program_arguments.bpf.h"

#include "bpf/emit.bpf.h"
#include "bpf/kernel.h"
#include "bpf/live_record.h"
#include "bpf/path_names.bpf.h"

/*
 * Read page by page, since each may or may not be resident. The smallest page size of all machines.
 */
#define PAGE_BYTES 4096

static __always_inline struct rec_exec *own_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&exec_scratches, &zero);
}

static __always_inline char *path_names_room(void)
{
	struct rec_exec *exec = own_scratch();

	return exec ? exec->text : NULL;
}

/* A global function, so the verifier checks it once, independent of its callers. */
__noinline int read_exec_names(__u64 mount, __u64 entry)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	bool is_whole;
	__u32 size = read_path_names(task, (void *)mount, (void *)entry, &is_whole);

	return (size & (EXEC_NAMES_WHOLE - 1)) | (is_whole ? EXEC_NAMES_WHOLE : 0);
}

/* Stores the names of the working folder and its parents, as read_exec_names() does. */
static __always_inline int read_folder(struct task_struct *task)
{
	struct fs_struct *fs = BPF_CORE_READ(task, fs);

	return read_exec_names((__u64)BPF_CORE_READ(fs, pwd.mnt),
			       (__u64)BPF_CORE_READ(fs, pwd.dentry));
}

/*
 * Stores the arguments after `used` bytes of text. Returns their bytes, and EXEC_NAMES_WHOLE if
 * none are missing. A global function likewise.
 */
__noinline int read_arguments(__u64 used)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct rec_exec *exec = own_scratch();
	__u64 start = BPF_CORE_READ(task, mm, arg_start), end = BPF_CORE_READ(task, mm, arg_end);
	__u64 size = end > start ? end - start : 0, first = PAGE_BYTES - start % PAGE_BYTES;
	__u32 whole = EXEC_NAMES_WHOLE;

	if (!exec)
		return 0;
	if (size > EXEC_TEXT_MAX - used) {
		size = EXEC_TEXT_MAX - used;
		whole = 0;
	}
	if (first > size)
		first = size;
	/* Keep this check last: verifiers until 6.1 forget limits of stored values. */
	if (first > EXEC_TEXT_MAX || used > PATH_NAMES_MAX)
		return 0;
	if (bpf_probe_read_user(exec->text + used, first, (void *)start))
		return size ? 0 : whole;
	if (first == size)
		return first | whole;
	size -= first;
	used += first;
	if (size > EXEC_TEXT_MAX || used > EXEC_TEXT_MAX ||
	    bpf_probe_read_user(exec->text + used, size, (void *)(start + first)))
		return first;
	return (first + size) | whole;
}

/* A global function likewise. */
__noinline int send_arguments(__u32 pid, __u32 tid)
{
	struct bpf_counters *count = own_counters();
	struct rec_exec *exec = own_scratch();
	void *ring = own_ring();
	__u32 folder, arguments, size;

	if (!config.arguments || !count || !exec)
		return 0;
	folder = read_folder((void *)bpf_get_current_task());
	exec->folder_size = folder & (EXEC_NAMES_WHOLE - 1);
	arguments = read_arguments(exec->folder_size);
	exec->arguments_size = arguments & (EXEC_NAMES_WHOLE - 1);
	size = (sizeof(*exec) + exec->folder_size + exec->arguments_size + 7) & ~7u;
	rec_init(&exec->rec, REC_EXEC, size, bpf_ktime_get_ns());
	exec->rec.flags = (arguments & EXEC_NAMES_WHOLE ? 0 : ARGUMENTS_CUT) |
			  (folder & EXEC_NAMES_WHOLE ? 0 : FOLDER_CUT);
	exec->rec.pid = pid;
	exec->rec.tid = tid;
	if (size > sizeof(*exec) + EXEC_TEXT_MAX)
		return 0;
	/* Reserve a ring that is full of markers for records that cannot be replaced. */
	if (!ring || is_filled(ring, ARGUMENTS_EIGHTHS) ||
	    !emit_output(count, ring, exec, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&count->skipped_arguments, 1);
	return 0;
}
