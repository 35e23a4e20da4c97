// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Signals as they are delivered to recorded threads: each becomes a marker. Its sender is known
 * only while it sends, so it is remembered until then.
 */
/* A tick of a hardware event can interrupt the delivery. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

#define SIGNAL_COUNT 65
#define TEXT_MAX 16 /* bytes */

/* Numbers of x86-64 and arm64. */
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

enum origin {
	ORIGIN_OTHER,
	ORIGIN_USER,
	ORIGIN_QUEUE,
	ORIGIN_THREAD,
	ORIGIN_TIMER,
	ORIGIN_MESSAGE_QUEUE,
	ORIGIN_IO,
	ORIGIN_FAULT,
	ORIGIN_CHILD,
	ORIGIN_KERNEL,
	ORIGIN_END, /* of the whole process: other threads are told like this */
	ORIGIN_COUNT,
};

const volatile char signal_origins[ORIGIN_COUNT][TEXT_MAX] = {
	[ORIGIN_OTHER] = "other",      [ORIGIN_USER] = "user",
	[ORIGIN_QUEUE] = "queue",      [ORIGIN_THREAD] = "thread",
	[ORIGIN_TIMER] = "timer",      [ORIGIN_MESSAGE_QUEUE] = "message queue",
	[ORIGIN_IO] = "I/O",	       [ORIGIN_FAULT] = "fault",
	[ORIGIN_CHILD] = "child",      [ORIGIN_KERNEL] = "kernel",
	[ORIGIN_END] = "process ends",
};
/* In place of a process's name. */
const volatile char kernel_sender[TEXT_MAX] = "kernel", unknown_sender[TEXT_MAX] = "unknown";
/* Set by user space: "SIGTERM" of each number; the schema's id. */
const volatile char signal_names[SIGNAL_COUNT][TEXT_MAX] = {};
const volatile __u32 signal_schema = 0;

bool signals_enabled = false;
__u64 signals_delivered = 0, signals_lost = 0;

/* The kernel's struct has the layout of user space. */
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
	char name[TEXT_MAX];
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

/* A signal that is being delivered. */
struct delivery {
	struct sender sender;
	__u32 signal, origin;
};

struct deliveries {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct delivery);
};

struct deliveries deliveries SEC(".maps");

/* The fields of the schema, in its order. */
enum {
	FIELD_SENDER,
	FIELD_PID,
	FIELD_ORIGIN,
	FIELD_STACK,
	FIELD_COUNT,
};

struct signal_marker {
	/* A struct rec_marker, which cannot be embedded: it ends with an array. */
	__u64 head[sizeof(struct rec_marker) / 8];
	struct rec_value values[FIELD_COUNT];
	struct rec_marker_stack stack;
	char name[TEXT_MAX], sender[TEXT_MAX], origin[TEXT_MAX];
};

static __always_inline bool is_fault(__s32 signal)
{
	return signal == SIGNAL_SEGV || signal == SIGNAL_BUS || signal == SIGNAL_FPE ||
	       signal == SIGNAL_ILL || signal == SIGNAL_TRAP || signal == SIGNAL_SYS;
}

static __always_inline enum origin origin_of_kernel(__s32 signal, __s32 code)
{
	/* Timers of setitimer() and alarm(). */
	if (signal == SIGNAL_ALRM || signal == SIGNAL_VTALRM || signal == SIGNAL_PROF)
		return ORIGIN_TIMER;
	if (is_fault(signal))
		return ORIGIN_FAULT;
	if (code == CODE_KERNEL)
		return ORIGIN_KERNEL;
	if (signal == SIGNAL_CHLD)
		return ORIGIN_CHILD;
	return signal == SIGNAL_IO ? ORIGIN_IO : ORIGIN_KERNEL;
}

/*
 * The origin of a signal with that si_code. As the others below a global function: the verifier
 * goes through it once, and not on through its caller for each of its results.
 */
__noinline int find_origin(int signal, int code)
{
	if (code > 0)
		return origin_of_kernel(signal, code);
	if (code == CODE_USER)
		return ORIGIN_USER;
	if (code == CODE_QUEUE)
		return ORIGIN_QUEUE;
	if (code == CODE_THREAD)
		return ORIGIN_THREAD;
	if (code == CODE_TIMER)
		return ORIGIN_TIMER;
	if (code == CODE_MESSAGE_QUEUE)
		return ORIGIN_MESSAGE_QUEUE;
	return code == CODE_IO || code == CODE_ASYNC_IO ? ORIGIN_IO : ORIGIN_OTHER;
}

#define SENT_BY_PROCESSES \
	(1u << ORIGIN_OTHER | 1u << ORIGIN_USER | 1u << ORIGIN_QUEUE | 1u << ORIGIN_THREAD | \
	 1u << ORIGIN_MESSAGE_QUEUE | 1u << ORIGIN_CHILD | 1u << ORIGIN_END)

/* Does siginfo have the pid of a process that sent it, or that it tells of? */
static __always_inline bool has_sender(__u32 origin)
{
	return 1u << (origin & 31) & SENT_BY_PROCESSES;
}

/* `from` may be one of the small numbers that stand for the current task, or for the kernel. */
static __always_inline void read_info(struct signal_info *info, __s32 signal, const void *from)
{
	__builtin_memset(info, 0, sizeof(*info));
	info->signal = signal;
	if ((__u64)from > 1)
		bpf_probe_read_kernel(info, sizeof(*info), from);
	else if (from)
		info->code = CODE_KERNEL;
}

/* Without a pid as well: of a process that is ended, threads are not told by whom. */
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

/* Copies a text of TEXT_MAX bytes at most; returns its length. */
static __always_inline __u32 put_text(char *to, const volatile char *from)
{
	long size = bpf_probe_read_kernel_str(to, TEXT_MAX, (const void *)from);

	return size > 0 && size <= TEXT_MAX ? size - 1 : 0;
}

/* `pid` is the sender's, as siginfo has it. */
__noinline int find_sender(struct delivery *d, __u32 tgid, __u32 pid)
{
	struct sending key = {.tgid = tgid, .sender = pid};
	struct sender *known = NULL;

	if (!d)
		return 0;
	key.signal = d->signal;
	if (has_sender(d->origin))
		known = bpf_map_lookup_elem(&senders, &key);
	if (known) {
		d->sender = *known;
	} else if (!has_sender(d->origin) || d->origin == ORIGIN_END) {
		put_text(d->sender.name, kernel_sender);
	} else {
		put_text(d->sender.name, unknown_sender);
		d->sender.pid = pid;
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

static __always_inline void set_string(struct rec_value *value, __u16 field, __u64 at, __u32 size)
{
	value->field = field;
	value->type = REC_FIELD_STRING;
	value->reserved = 0;
	value->size = size;
	value->value = at;
}

static __always_inline void set_number(struct rec_value *value, __u16 field, __u8 type,
				       __u64 number)
{
	set_string(value, field, number, 0);
	value->type = type;
}

static __always_inline void fill_texts(struct signal_marker *marker, const struct delivery *d)
{
	struct rec_marker *head = (struct rec_marker *)marker->head;
	__u32 signal = d->signal, origin = d->origin;

	__builtin_memset(marker->name, 0, 3 * TEXT_MAX);
	if (signal >= SIGNAL_COUNT)
		signal = 0;
	if (origin >= ORIGIN_COUNT)
		origin = ORIGIN_OTHER;
	head->name_size = put_text(marker->name, signal_names[signal]);
	head->category_size = 0;
	head->text_size = 3 * TEXT_MAX;
	set_string(&marker->values[FIELD_SENDER], FIELD_SENDER, TEXT_MAX,
		   put_text(marker->sender, d->sender.name));
	set_string(&marker->values[FIELD_ORIGIN], FIELD_ORIGIN, 2 * TEXT_MAX,
		   put_text(marker->origin, signal_origins[origin]));
}

/* `sample`: of what was interrupted. False: the ring has no room for the marker. */
__noinline bool write_marker(const struct delivery *d, const struct rec_sample *sample)
{
	struct bpf_counters *count = own_counters();
	struct signal_marker *marker;
	struct rec_marker *head;

	if (!count || !d || !sample)
		return false;
	marker = emit_reserve(count, own_ring(), REC_MARKER, sizeof(*marker), sample->rec.time);
	if (!marker)
		return false;
	head = (struct rec_marker *)marker->head;
	/* Front-ends show causes as stacks, fields of stacks as text. */
	head->rec.flags = MARKER_CAUSE;
	head->rec.pid = sample->rec.pid;
	head->rec.tid = sample->rec.tid;
	head->start = sample->rec.time;
	head->schema = signal_schema;
	head->value_count = FIELD_COUNT;
	head->stack_count = 1;
	head->reserved = 0;
	fill_texts(marker, d);
	set_number(&marker->values[FIELD_PID], FIELD_PID, REC_FIELD_PROCESS_ID, d->sender.pid);
	set_number(&marker->values[FIELD_STACK], FIELD_STACK, REC_FIELD_STACK, 0);
	set_marker_stack(&marker->stack, sample);
	emit_submit(marker, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline struct delivery *own_delivery(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&deliveries, &zero);
}

/* Makes the marker. `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_delivery(const struct rec_sample *sample)
{
	struct delivery *d = own_delivery();

	if (sample && d && write_marker(d, sample))
		__sync_fetch_and_add(&signals_delivered, 1);
	else
		__sync_fetch_and_add(&signals_lost, 1);
}

SEC("raw_tp")
int end_delivery(void *ctx)
{
	finish_delivery(ended_marker_sample());
	end_run(TIMED_DELIVER, 0);
	return 0;
}

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_delivery}};

static __always_inline void begin_delivery(struct delivery *d, struct task_struct *task, int signal,
					   const void *from)
{
	struct signal_info info;

	read_info(&info, signal, from);
	d->origin = from ? find_origin(signal, info.code) : ORIGIN_END;
	d->signal = from ? signal : ending_signal(task);
	__builtin_memset(&d->sender, 0, sizeof(d->sender));
	find_sender(d, task->tgid, info.pid);
}

/* The kernel delivers signals with interrupts disabled. */
static __always_inline void tell_delivery(void *ctx, int signal, const void *from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct rec head = {.time = bpf_ktime_get_ns()};
	struct delivery *d = own_delivery();
	struct rec_sample *sample;
	struct stack_scratch *s;

	if (!signals_enabled || !process || !d || match_task(task, ids, &head))
		return;
	sample = begin_marker_sample(&head);
	if (!sample)
		return;
	begin_delivery(d, task, signal, from);
	s = capture_marker(ctx, task, process, sample);
	finish_delivery(s && send_marker_stack(ctx, s, 0) ? sample : NULL);
}

SEC("raw_tp/signal_deliver")
int BPF_PROG(on_deliver, int signal, const void *from)
{
	RUN_TIMED(TIMED_DELIVER, tell_delivery(ctx, signal, from));
	return 0;
}
