// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports large files mapped by recorded programs, when the kernel searches for address space. */
#include "bpf/emit.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/live_record.h"
#include "bpf/program_arguments.bpf.h"
#include "bpf/ring.bpf.h"

#define LARGE (1ul << 20) /* bytes */
/* Flags of mmap(2). Program loaders deny writing; their mappings are left out. */
#define MAP_ANONYMOUS 0x20
#define MAP_DENYWRITE 0x800

struct vm_unmapped_area_info {
	unsigned long length;
} CORE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;

struct files_struct {
	struct fdtable *fdt;
} CORE;

struct task_struct___files {
	struct files_struct *files;
} CORE;

#if IS_ARM64
#define CALL_MMAP 222
struct pt_regs___mmap {
	__u64 regs[31];
	int syscallno;
} CORE;
#define MMAP_CALL syscallno
#define MMAP_SIZE regs[1]
#define MMAP_FLAGS regs[3]
#define MMAP_FD regs[4]
#else
#define CALL_MMAP 9
struct pt_regs___mmap {
	unsigned long orig_ax, si, r10, r8;
} CORE;
#define MMAP_CALL orig_ax
#define MMAP_SIZE si
#define MMAP_FLAGS r10
#define MMAP_FD r8
#endif

static __always_inline struct file *find_file(struct task_struct *task, __u32 number)
{
	struct task_struct___files *owner = (void *)task;
	struct fdtable *table = BPF_CORE_READ(owner, files, fdt);
	struct file *file = NULL, **all = BPF_CORE_READ(table, fd);

	if (number >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), all + number))
		return NULL;
	return file;
}

_Static_assert(sizeof(struct rec_mapped) == sizeof(struct rec_exec), "names are behind either");

/* Execs and mappings of programs do not interrupt each other on a CPU: they share memory. */
static __always_inline void send_mapped(struct task_struct *task, struct file *file, __u64 bytes)
{
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct bpf_counters *count = own_counters();
	struct rec_mapped *mapped;
	void *ring = own_ring();
	__u32 zero = 0, names, size;

	mapped = bpf_map_lookup_elem(&exec_scratches, &zero);
	if (!count || !mapped)
		return;
	rec_init(&mapped->rec, REC_MAPPED, sizeof(*mapped), bpf_ktime_get_ns());
	if (match_task(task, ids, &mapped->rec))
		return;
	mapped->kilobytes = bytes >> 10;
	names = read_exec_names((__u64)BPF_CORE_READ(file, f_path.mnt),
				(__u64)BPF_CORE_READ(file, f_path.dentry));
	mapped->rec.flags = names & EXEC_NAMES_WHOLE ? 0 : PATH_NAMES_CUT;
	mapped->names_size = names & (EXEC_NAMES_WHOLE - 1);
	size = (sizeof(*mapped) + mapped->names_size + 7) & ~7u;
	if (size > sizeof(struct exec_scratch))
		return;
	mapped->rec.words = size / 8;
	/* Reserve a ring that is filling up for records that cannot be replaced. */
	if (!ring || is_filling(ring) || !emit_output(count, ring, mapped, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&count->lost_events, 1);
}

SEC("raw_tp/vm_unmapped_area")
int BPF_PROG(on_unmapped_area, unsigned long address, struct vm_unmapped_area_info *info)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___mmap *regs;
	struct file *file;
	__u64 size, flags;

	/* The alignment may add to the requested length. */
	if (BPF_CORE_READ(info, length) < LARGE || !find_current(task))
		return 0;
	regs = (struct pt_regs___mmap *)bpf_task_pt_regs(task);
	flags = regs->MMAP_FLAGS;
	size = regs->MMAP_SIZE;
	if (regs->MMAP_CALL != CALL_MMAP || flags & (MAP_ANONYMOUS | MAP_DENYWRITE) || size < LARGE)
		return 0;
	file = find_file(task, regs->MMAP_FD);
	if (file)
		send_mapped(task, file, size);
	return 0;
}
