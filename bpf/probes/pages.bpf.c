// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages that processes make resident, sampled as allocations with the stack of the fault. The
 * kernel reports a page's size when it allocates it, and the end of the fault by a software event.
 * Memory counts as freed when it is unmapped or dropped.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/alloc_record.h"
#include "bpf/alloc_sampling.bpf.h"
#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/system_call.bpf.h"

/* Allocation flags of user pages; unchanged in all kernels since 2.6. */
#define GFP_USER_PAGE (0x02u | 0x08u) /* __GFP_HIGHMEM | __GFP_MOVABLE */
#define ORDER_MAX 20
#define SUPER_TMPFS 0x01021994
/* Advice that drops memory, as in <asm-generic/mman-common.h>. */
#define ADVICE_DONTNEED 4
#define ADVICE_FREE 8
#define ADVICE_REMOVE 9
#define MAP_IN_PLACE 0x10 /* MAP_FIXED */
#define AREA_WRITE 0x2
#define AREA_SHARED 0x8

const volatile __s32 page_calls[PAGE_CALL_COUNT] = {};
const volatile __u64 page_bytes = 4096;

/* Bytes of the last page that each thread got from the kernel since its last fault. */
struct page_notes {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
};

struct page_notes page_notes SEC(".maps");

/* The record of the fault under way on a CPU. */
PER_CPU(struct rec_alloc, page_scratches, own_page)

struct super_block {
	unsigned long s_magic;
} CORE;

struct inode {
	struct super_block *i_sb;
} CORE;

struct vm_area_struct {
	struct file *vm_file;
	unsigned long vm_flags;
} CORE;

struct mm_struct___pages {
	unsigned long brk;
} CORE;

static __always_inline void note_page(unsigned int order, unsigned int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *note;

	if (!markers.since || (flags & GFP_USER_PAGE) != GFP_USER_PAGE || order > ORDER_MAX ||
	    !find_current(task))
		return;
	note = bpf_task_storage_get(&page_notes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (note)
		*note = page_bytes << order;
}

SEC("raw_tp/mm_page_alloc")
int BPF_PROG(on_page_alloc, void *page, unsigned int order, unsigned int flags)
{
	RUN_TIMED(TIMED_PAGE_ALLOC, note_page(order, flags));
	return 0;
}

struct found_area {
	bool is_file;
};

/*
 * Private file pages become the process's own when written. Shared memory is backed by a file as
 * well.
 */
static long judge_area(struct task_struct *task, struct vm_area_struct *area, void *ctx)
{
	struct file *file = BPF_CORE_READ(area, vm_file);
	unsigned long flags = BPF_CORE_READ(area, vm_flags) & (AREA_WRITE | AREA_SHARED);
	struct found_area *found = ctx;

	found->is_file = file && flags != AREA_WRITE &&
			 BPF_CORE_READ(file, f_inode, i_sb, s_magic) != SUPER_TMPFS;
	return 0;
}

/*
 * Returns whether the page belongs to a file: then the thread's last page was read into the page
 * cache and is not the process's. A global function: its variables do not add to its caller's
 * stack.
 */
__noinline int is_page_of_file(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_alloc *rec = own_page();
	struct found_area found = {};

	if (rec)
		bpf_find_vma(task, rec->address, judge_area, &found, 0);
	return found.is_file;
}

/* `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_page(const struct rec_sample *sample)
{
	struct rec_alloc *rec = own_page();

	if (!rec)
		return;
	set_sample_stack(&rec->sample, sample);
	count_marker(sample && send_marker(&rec->sample.rec, sizeof(*rec), sizeof(*rec), false));
}

MARKER_END("perf_event", end_page, TIMED_PAGE_FAULT, finish_page(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_page}};

/* Returns the bytes that the fault has made resident if they are sampled, else 0. */
static __always_inline __u64 take_note(struct task_struct *task)
{
	__u64 *note = bpf_task_storage_get(&page_notes, task, NULL, 0);
	__u64 bytes = note ? *note : 0;

	if (!bytes)
		return 0;
	*note = 0;
	return markers.since && takes_bytes(bytes) ? bytes : 0;
}

static __always_inline void tell_page(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_alloc *rec = own_page();
	__u64 bytes = take_note(task);
	struct tracked_process *process;
	struct rec_sample *sample;
	struct stack_scratch *s;

	if (!bytes || !rec)
		return;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec_init(&rec->sample.rec, REC_ALLOC, sizeof(*rec), bpf_ktime_get_ns());
	process = marker_owner(task, &rec->sample.rec);
	rec->address = ctx->addr & ~(bytes - 1);
	if (!process || is_page_of_file())
		return;
	rec->size = bytes;
	rec->weighted = weigh_bytes(bytes);
	sample = begin_marker_sample(&rec->sample.rec);
	s = sample ? begin_marker_stack(process, sample) : NULL;
	if (s)
		capture_interrupted(ctx, s, process, sample->rec.pid);
	finish_page(s && send_marker_stack(ctx, s, 0) ? sample : NULL);
}

SEC("perf_event")
int on_page_fault(struct bpf_perf_event_data *ctx)
{
	RUN_TIMED(TIMED_PAGE_FAULT, tell_page(ctx));
	return 0;
}

static __always_inline __u64 page_after(__u64 address)
{
	return (address + page_bytes - 1) & ~(page_bytes - 1);
}

/* Sends the pages that begin in the range. */
static __always_inline void send_range(struct task_struct *task, __u64 address, __u64 size)
{
	__u64 start = page_after(address);
	struct rec_free rec = {.address = start, .size = page_after(address + size) - start};

	if (!rec.size)
		return;
	rec_init(&rec.rec, REC_FREE, sizeof(rec), bpf_ktime_get_ns());
	if (marker_owner(task, &rec.rec))
		count_marker(send_marker(&rec.rec, sizeof(rec), sizeof(rec), true));
}

static __always_inline __u64 end_of_heap(struct task_struct *task)
{
	struct mm_struct___pages *mm = (struct mm_struct___pages *)BPF_CORE_READ(task, mm);

	return BPF_CORE_READ(mm, brk);
}

/* Reports memory before it is unmapped: other threads may map the range again afterwards. */
static __always_inline void take_call(struct pt_regs___call *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 address = BPF_CORE_READ(regs, ARGUMENT_FIELD), end;
	__u64 size = BPF_CORE_READ(regs, SECOND_FIELD), third = BPF_CORE_READ(regs, THIRD_FIELD);

	if (!markers.since || has_compat_call(task) || !find_current(task))
		return;
	if (number == page_calls[PAGE_CALL_MUNMAP] ||
	    (number == page_calls[PAGE_CALL_MMAP] &&
	     BPF_CORE_READ(regs, FOURTH_FIELD) & MAP_IN_PLACE)) {
		send_range(task, address, size);
	} else if (number == page_calls[PAGE_CALL_MADVISE]) {
		if (third == ADVICE_DONTNEED || third == ADVICE_FREE || third == ADVICE_REMOVE)
			send_range(task, address, size);
	} else if (number == page_calls[PAGE_CALL_MREMAP]) {
		if (third < size)
			send_range(task, address + third, size - third);
	} else if (number == page_calls[PAGE_CALL_BRK]) {
		end = end_of_heap(task);
		if (address && address < end)
			send_range(task, address, end - address);
	}
}

SEC("raw_tp/sys_enter")
int BPF_PROG(on_page_call, struct pt_regs___call *regs, long number)
{
	bool is_one = false;

	for (int i = 0; i < PAGE_CALL_COUNT; i++)
		is_one |= number == page_calls[i];
	if (is_one)
		RUN_TIMED(TIMED_PAGE_CALL, take_call(regs, number));
	return 0;
}
