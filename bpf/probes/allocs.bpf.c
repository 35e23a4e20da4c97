// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory allocations. Some programs report a sample of their allocations by OpenTelemetry's USDT
 * probes: otel_memory:alloc(address, size, weighted) and otel_memory:free(address). Functions of
 * other allocators are probed, and sampled here.
 */
#define EMIT_LEAVES_ASIDE
#define usdt_layouts alloc_layouts

#include "bpf/own_scratch.bpf.h"

#include "bpf/alloc_sampling.bpf.h"
#include "bpf/marker_stack.bpf.h"
#include "bpf/probed_tasks.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/usdt_arguments.bpf.h"

/* Calls of free() and of the allocator's other functions, counted before recording begins. */
__u64 alloc_frees, alloc_others;

/* An allocation under way in the current thread; its record is built here. */
struct alloc_call {
	struct rec_alloc rec;
	__u64 where; /* location that receives the address; 0: it is returned */
};

/*
 * In use while is_owned, from the probe to its end: the kernel may preempt programs. The owner also
 * owns the CPU's stack_scratch and runtime_scratch.
 */
struct alloc_scratch {
	struct alloc_call call;
	__u64 is_owned;
};

PER_CPU(struct alloc_scratch, alloc_scratches, own_alloc_scratch)

/* By thread. */
struct alloc_call_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALLOC_CALLS_MAX);
	__type(key, __u64);
	__type(value, struct alloc_call);
};

struct alloc_call_map alloc_call_map SEC(".maps");

/*
 * The outermost allocator call of each thread: functions that call or jump to one another, like
 * reallocarray() and realloc(), allocate once.
 */
struct alloc_depth_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64); /* stack pointer in the call; 0: not in a call */
};

struct alloc_depth_map alloc_depth_map SEC(".maps");

/* The sent blocks of programs without probes of their own. */
struct alloc_block {
	__u64 address;
	__u64 tgid;
};

struct alloc_blocks {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ALLOC_BLOCKS_MAX);
	__type(key, struct alloc_block);
	__type(value, __u8);
};

struct alloc_blocks alloc_blocks SEC(".maps");

__u64 alloc_overflow; /* blocks that did not fit into the table and are not recorded */

/* Sets pids and time. Returns the current process; NULL: it is not recorded. */
static __always_inline struct tracked_process *begin_record(struct task_struct *task,
							    struct rec *rec, __u8 kind, __u32 size)
{
	rec_init(rec, kind, size, bpf_ktime_get_ns());
	return markers.since ? marker_owner(task, rec) : NULL;
}

static __always_inline void send_free(struct task_struct *task, __u64 address)
{
	struct rec_free rec = {.address = address};

	if (begin_record(task, &rec.rec, REC_FREE, sizeof(rec)))
		count_marker(send_marker(&rec.rec, sizeof(rec), sizeof(rec), true));
}

static __always_inline void disown(struct alloc_scratch *scratch)
{
	__sync_lock_test_and_set(&scratch->is_owned, 0);
}

/* Returns the CPU's memory with an initialized record; NULL: the process is not recorded. */
static __always_inline struct alloc_scratch *own_scratch_of(struct task_struct *task,
							    struct tracked_process **process)
{
	struct alloc_scratch *scratch;

	scratch = own_alloc_scratch();
	if (!scratch)
		return NULL;
	if (__sync_lock_test_and_set(&scratch->is_owned, 1)) {
		count_marker(false);
		return NULL;
	}
	__builtin_memset(&scratch->call, 0, sizeof(scratch->call));
	*process = begin_record(task, &scratch->call.rec.sample.rec, REC_ALLOC,
				sizeof(scratch->call.rec));
	if (*process)
		return scratch;
	disown(scratch);
	return NULL;
}

/* Programs that continue when the stack has been sent. */
enum alloc_end {
	END_ALLOC,
	END_ENTRY,
};

/* Probes that programs declare. */

/* `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_alloc(const struct rec_sample *sample)
{
	struct alloc_scratch *scratch = own_alloc_scratch();
	struct rec_alloc *rec;

	if (!scratch)
		return;
	rec = &scratch->call.rec;
	set_sample_stack(&rec->sample, sample);
	count_marker(sample && send_marker(&rec->sample.rec, sizeof(*rec), sizeof(*rec), true));
	disown(scratch);
}

MARKER_END("uprobe", end_alloc, TIMED_ALLOC, finish_alloc(ended_marker_sample()))

static __always_inline void tell_alloc(struct pt_regs *ctx, struct task_struct *task,
				       const void *registers, const struct usdt_layout *layout)
{
	struct tracked_process *process = NULL;
	struct alloc_scratch *scratch = own_scratch_of(task, &process);
	struct rec_alloc *rec;
	bool is_read;

	if (!scratch)
		return;
	rec = &scratch->call.rec;
	is_read = read_usdt_argument(registers, &layout->arguments[0], &rec->address) &&
		  read_usdt_argument(registers, &layout->arguments[1], &rec->size) &&
		  read_usdt_argument(registers, &layout->arguments[2], &rec->weighted);
	finish_alloc(
		is_read ? send_user_marker_stack(ctx, task, process, &rec->sample.rec, END_ALLOC)
			: NULL);
}

static __always_inline void take_probe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const void *registers = (const void *)bpf_task_pt_regs(task);
	__u32 number = bpf_get_attach_cookie(ctx);
	struct usdt_layout *layout = bpf_map_lookup_elem(&usdt_layouts, &number);
	__u64 address = 0;

	if (!layout || !find_current(task))
		return;
	if (layout->count >= 3)
		tell_alloc(ctx, task, registers, layout);
	else if (read_usdt_argument(registers, &layout->arguments[0], &address))
		send_free(task, address);
}

SEC("uprobe")
int on_alloc(struct pt_regs *ctx)
{
	RUN_TIMED(TIMED_ALLOC, take_probe(ctx));
	return 0;
}

/* Functions of an allocator without probes. */

static __always_inline void take_free(struct task_struct *task, __u64 address)
{
	struct alloc_block block = {.address = address, .tgid = task->tgid};

	if (address && !bpf_map_delete_elem(&alloc_blocks, &block))
		send_free(task, address);
}

static __always_inline __u64 count_bytes(struct pt_regs *ctx, __u32 function)
{
	switch (function) {
	case ALLOC_SIZE:
		return PT_REGS_PARM1(ctx);
	case ALLOC_COUNT_SIZE:
		return PT_REGS_PARM1(ctx) * PT_REGS_PARM2(ctx);
	case ALLOC_POSIX_MEMALIGN:
		return PT_REGS_PARM3(ctx);
	case ALLOC_REALLOCARRAY:
		return PT_REGS_PARM2(ctx) * PT_REGS_PARM3(ctx);
	default:
		return PT_REGS_PARM2(ctx);
	}
}

/* Notes the call. Returns false inside another call of the allocator. */
static __always_inline bool enter_call(struct pt_regs *ctx, struct task_struct *task)
{
	__u64 sp = PT_REGS_SP(ctx);
	__u64 *outer = bpf_task_storage_get(&alloc_depth_map, task, NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!outer)
		return true;
	/* Stacks grow down: a noted call below this one was left by longjmp(). */
	if (*outer && sp <= *outer)
		return false;
	*outer = sp;
	return true;
}

/* Returns false if enter_call() did. */
static __always_inline bool leave_call(struct pt_regs *ctx, struct task_struct *task)
{
	__u64 *outer = bpf_task_storage_get(&alloc_depth_map, task, NULL, 0);

	if (!outer)
		return true;
	if (PT_REGS_SP(ctx) < *outer)
		return false;
	*outer = 0;
	return true;
}

/* Takes about as long as recording a call: it serves to measure that cost. */
static __always_inline void count_call(struct pt_regs *ctx, struct task_struct *task,
				       __u32 function)
{
	if (function == ALLOC_FREE) {
		__sync_fetch_and_add(&alloc_frees, 1);
	} else {
		__sync_fetch_and_add(&alloc_others, 1);
		enter_call(ctx, task);
	}
}

/* Keeps the call until it returns with an address. `sample`: as for finish_alloc(). */
static __always_inline void finish_entry(const struct rec_sample *sample)
{
	struct alloc_scratch *scratch = own_alloc_scratch();
	__u64 thread = bpf_get_current_pid_tgid();

	if (!scratch)
		return;
	set_sample_stack(&scratch->call.rec.sample, sample);
	if (!sample || bpf_map_update_elem(&alloc_call_map, &thread, &scratch->call, BPF_ANY))
		count_marker(false);
	disown(scratch);
}

MARKER_END("uprobe", end_entry, TIMED_ALLOC_CALL, finish_entry(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {
	.values = {[END_ALLOC] = (void *)end_alloc, [END_ENTRY] = (void *)end_entry},
};

static __always_inline void begin_call(struct pt_regs *ctx, struct task_struct *task, __u64 size,
				       __u64 where)
{
	struct tracked_process *process = NULL;
	struct alloc_scratch *scratch = own_scratch_of(task, &process);
	struct alloc_call *call;

	if (!scratch)
		return;
	call = &scratch->call;
	call->where = where;
	call->rec.size = size;
	call->rec.weighted = weigh_bytes(size);
	finish_entry(send_user_marker_stack(ctx, task, process, &call->rec.sample.rec, END_ENTRY));
}

static __always_inline void take_call(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 function = bpf_get_attach_cookie(ctx);
	__u64 size;

	if (!markers.since) {
		count_call(ctx, task, function);
		return;
	}
	if (function == ALLOC_FREE || function == ALLOC_REALLOC || function == ALLOC_REALLOCARRAY)
		take_free(task, PT_REGS_PARM1(ctx));
	if (function == ALLOC_FREE || !find_current(task))
		return;
	size = count_bytes(ctx, function);
	if (enter_call(ctx, task) && takes_bytes(size))
		begin_call(ctx, task, size,
			   function == ALLOC_POSIX_MEMALIGN ? PT_REGS_PARM1(ctx) : 0);
}

SEC("uprobe")
int on_alloc_call(struct pt_regs *ctx)
{
	RUN_TIMED(TIMED_ALLOC_CALL, take_call(ctx));
	return 0;
}

static __always_inline void end_call(struct pt_regs *ctx, struct task_struct *task,
				     struct alloc_call *call)
{
	struct alloc_block block = {.address = PT_REGS_RC(ctx), .tgid = task->tgid};
	struct rec_alloc rec = call->rec;
	__u8 one = 1;

	if (call->where &&
	    (block.address || bpf_probe_read_user(&block.address, 8, (const void *)call->where)))
		return;
	if (!block.address)
		return;
	if (bpf_map_update_elem(&alloc_blocks, &block, &one, BPF_ANY)) {
		__sync_fetch_and_add(&alloc_overflow, 1);
		return;
	}
	rec.address = block.address;
	/* Other threads can see and free the block from now on. */
	rec.sample.rec.time = bpf_ktime_get_ns();
	rec.sample.rec.cpu = bpf_get_smp_processor_id();
	count_marker(send_marker(&rec.sample.rec, sizeof(rec), sizeof(rec), true));
}

static __always_inline void take_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = bpf_get_current_pid_tgid();
	struct alloc_call *call;

	if (!leave_call(ctx, task))
		return;
	call = bpf_map_lookup_elem(&alloc_call_map, &thread);
	if (!call)
		return;
	end_call(ctx, task, call);
	bpf_map_delete_elem(&alloc_call_map, &thread);
}

SEC("uretprobe")
int on_alloc_return(struct pt_regs *ctx)
{
	RUN_TIMED(TIMED_ALLOC_RETURN, take_return(ctx));
	return 0;
}

PROBED_TASKS(on_alloc_fork, on_alloc_exec, REC_ALLOC_TASK)
