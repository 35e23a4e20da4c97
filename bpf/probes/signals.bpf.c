// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Signals as they are delivered to recorded threads. A signal's sender is known only during the
 * sending, so it is remembered until the delivery.
 */
/* A tick of a hardware event can interrupt the delivery. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

/* Signal numbers of x86-64 and arm64. */
enum {
	SIGNAL_ILL = 4,
	SIGNAL_TRAP = 5,
	SIGNAL_BUS = 7,
	SIGNAL_FPE = 8,
	SIGNAL_KILL = 9,
	SIGNAL_SEGV = 11,
	SIGNAL_ALRM = 14,
	SIGNAL_CHLD = 17,
	SIGNAL_VTALRM = 26,
	SIGNAL_PROF = 27,
	SIGNAL_IO = 29,
	SIGNAL_SYS = 31,
};

/* siginfo.si_code */
enum {
	CODE_USER = 0,
	CODE_QUEUE = -1,
	CODE_TIMER = -2,
	CODE_MESSAGE_QUEUE = -3,
	CODE_ASYNC_IO = -4,
	CODE_IO = -5,
	CODE_THREAD = -6,
	CODE_KERNEL = 0x80,
};

/* The kernel's struct has the same layout as user space's. */
struct signal_info {
	__s32 signal, error, code, padding;
	__u32 pid; /* valid only with some codes */
};

/* Pids and tgids in the initial pid namespace; `sender` as in siginfo. */
struct sending {
	__u32 tgid, signal, sender;
};

struct sender {
	__u32 pid; /* in the recorder's pid namespace */
	char name[LIVE_NAME_SIZE];
};

struct senders {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct sending);
	__type(value, struct sender);
};

struct senders senders SEC(".maps");

struct signal_struct___ending {
	int group_exit_code;
} CORE;

/* Returns the record of the signal being delivered on this CPU. */
PER_CPU(struct rec_signal, deliveries, own_delivery)

static __always_inline bool is_fault(__s32 signal)
{
	return signal == SIGNAL_SEGV || signal == SIGNAL_BUS || signal == SIGNAL_FPE ||
	       signal == SIGNAL_ILL || signal == SIGNAL_TRAP || signal == SIGNAL_SYS;
}

static __always_inline enum signal_origin origin_of_kernel(__s32 signal, __s32 code)
{
	/* Timers of setitimer() and alarm(). */
	if (signal == SIGNAL_ALRM || signal == SIGNAL_VTALRM || signal == SIGNAL_PROF)
		return SIGNAL_FROM_TIMER;
	if (is_fault(signal))
		return SIGNAL_FROM_FAULT;
	if (code == CODE_KERNEL)
		return SIGNAL_FROM_KERNEL;
	if (signal == SIGNAL_CHLD)
		return SIGNAL_FROM_CHILD;
	return signal == SIGNAL_IO ? SIGNAL_FROM_IO : SIGNAL_FROM_KERNEL;
}

/*
 * Returns the origin of a signal with that si_code. A global function, like those below, so that
 * the verifier checks the caller once, not once per result.
 */
__noinline int find_origin(int signal, int code)
{
	if (code > 0)
		return origin_of_kernel(signal, code);
	if (code == CODE_USER)
		return SIGNAL_FROM_USER;
	if (code == CODE_QUEUE)
		return SIGNAL_FROM_QUEUE;
	if (code == CODE_THREAD)
		return SIGNAL_FROM_THREAD;
	if (code == CODE_TIMER)
		return SIGNAL_FROM_TIMER;
	if (code == CODE_MESSAGE_QUEUE)
		return SIGNAL_FROM_MESSAGE_QUEUE;
	return code == CODE_IO || code == CODE_ASYNC_IO ? SIGNAL_FROM_IO : SIGNAL_FROM_OTHER;
}

#define SENT_BY_PROCESSES \
	(1u << SIGNAL_FROM_OTHER | 1u << SIGNAL_FROM_USER | 1u << SIGNAL_FROM_QUEUE | \
	 1u << SIGNAL_FROM_THREAD | 1u << SIGNAL_FROM_MESSAGE_QUEUE | 1u << SIGNAL_FROM_CHILD | \
	 1u << SIGNAL_FROM_END)

/* True if siginfo has the pid of its sender or subject. */
static __always_inline bool has_sender(__u32 origin)
{
	return 1u << (origin & 31) & SENT_BY_PROCESSES;
}

/* `from` may be one of the small numbers that stand for the current task or the kernel. */
static __always_inline void read_info(struct signal_info *info, __s32 signal, const void *from)
{
	__builtin_memset(info, 0, sizeof(*info));
	info->signal = signal;
	if ((__u64)from > 1)
		bpf_probe_read_kernel(info, sizeof(*info), from);
	else if (from)
		info->code = CODE_KERNEL;
}

/* Notes it even without a pid: the threads of a process that is being ended get no sender. */
static __always_inline void note_sender(int signal, const void *from, struct task_struct *target)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct sending key = {.tgid = BPF_CORE_READ(target, tgid), .signal = signal};
	struct sender sender = {};
	struct signal_info info;
	__u32 tid;

	if (!find_tracked(target, key.tgid))
		return;
	read_info(&info, signal, from);
	if (!has_sender(find_origin(signal, info.code)))
		return;
	task_pids(task, ids, &sender.pid, &tid);
	bpf_probe_read_kernel_str(sender.name, sizeof(sender.name),
				  process_name(task, ids, task->comm));
	bpf_map_update_elem(&senders, &key, &sender, BPF_ANY);
	key.sender = info.pid;
	if (info.pid)
		bpf_map_update_elem(&senders, &key, &sender, BPF_ANY);
}

SEC("raw_tp/signal_generate")
int BPF_PROG(on_generate, int signal, const void *from, struct task_struct *target)
{
	RUN_TIMED(TIMED_GENERATE, note_sender(signal, from, target));
	return 0;
}

/* Sets the sender. `pid` is the one in siginfo. */
__noinline int find_sender(struct rec_signal *rec, __u32 tgid, __u32 pid)
{
	struct sending key = {.tgid = tgid, .sender = pid};
	struct sender *known = NULL;

	if (!rec)
		return 0;
	key.signal = rec->signal;
	if (has_sender(rec->origin))
		known = bpf_map_lookup_elem(&senders, &key);
	if (known) {
		rec->sender = known->pid;
		__builtin_memcpy(rec->name, known->name, sizeof(rec->name));
	} else if (!has_sender(rec->origin) || rec->origin == SIGNAL_FROM_END) {
		rec->rec.flags = SIGNAL_BY_KERNEL;
	} else {
		rec->sender = pid;
	}
	return 0;
}

/* The threads of a process that ends all get a SIGKILL, whichever signal it was. */
static __always_inline __u32 ending_signal(struct task_struct *task)
{
	struct signal_struct___ending *process = (void *)BPF_CORE_READ(task, signal);
	int signal = BPF_CORE_READ(process, group_exit_code) & 0x7f;

	return signal ? signal : SIGNAL_KILL;
}

/* Sends the record. `sample`: of the interrupted code; NULL if the ring had no room for it. */
static __always_inline void finish_delivery(const struct rec_sample *sample)
{
	struct rec_signal *rec = own_delivery();

	if (rec)
		finish_marker(&rec->rec, &rec->stack, sample, sizeof(*rec), sizeof(*rec), false);
}

MARKER_END("raw_tp", end_delivery, TIMED_DELIVER, finish_delivery(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_delivery}};

static __always_inline void describe(struct rec_signal *rec, struct task_struct *task, int signal,
				     const void *from)
{
	struct signal_info info;

	read_info(&info, signal, from);
	rec->origin = from ? find_origin(signal, info.code) : SIGNAL_FROM_END;
	rec->signal = from ? signal : ending_signal(task);
	rec->sender = 0;
	__builtin_memset(rec->name, 0, sizeof(rec->name));
	find_sender(rec, task->tgid, info.pid);
}

/* The kernel delivers signals with interrupts disabled. */
static __always_inline void tell_delivery(void *ctx, int signal, const void *from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_signal *rec = own_delivery();
	struct tracked_process *process;

	if (!markers.since || !rec)
		return;
	rec_init(&rec->rec, REC_SIGNAL, sizeof(*rec), bpf_ktime_get_ns());
	process = marker_owner(task, &rec->rec);
	if (!process)
		return;
	describe(rec, task, signal, from);
	finish_delivery(send_user_marker_stack(ctx, task, process, &rec->rec, 0));
}

SEC("raw_tp/signal_deliver")
int BPF_PROG(on_deliver, int signal, const void *from)
{
	RUN_TIMED(TIMED_DELIVER, tell_delivery(ctx, signal, from));
	return 0;
}
