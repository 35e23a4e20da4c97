// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes a marker of each long wait that has a stack when it ends: who has ended it, and that task's
 * stack. The lock of the woken thread is held, and interrupts are disabled, unless it is the
 * current one.
 */
/* A tick, or a context switch's hardware counter, can come in between. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/wait.bpf.h"

/* Waits of this length or longer get a marker. */
#define WAKER_WAIT_NS 1000000
#define TEXT_MAX 16 /* bytes */

/* In place of a process's name. */
const volatile char interrupt_name[TEXT_MAX] = "interrupt";
/* Set by user space: the schema's id. */
const volatile __u32 waker_schema = 0;

__u64 wakers_since = 0; /* when recording began, ns; 0: not yet */
__u64 wakers_told = 0, wakers_lost = 0;

__u64 fence = 0;

/* Functions of the kernel that tell what a stack is about. */
enum frame_meaning {
	MEANS_NOTHING,
	MEANS_WAKING, /* frames inside of it are this program's */
	MEANS_INTERRUPT, /* frames outside of it were interrupted */
};

/* By address: finding the name of one takes longer than all else. */
struct frame_meanings {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32); /* enum frame_meaning */
};

struct frame_meanings frame_meanings SEC(".maps");

struct frame_scan {
	struct stack_scratch *s;
	__u32 count, skip;
	__u32 is_interrupt;
};

/* The fields of the schema, in its order. */
enum {
	FIELD_WAKER,
	FIELD_PID,
	FIELD_TID,
	FIELD_STACK,
	FIELD_COUNT,
};

struct waker_marker {
	/* A struct rec_marker, which cannot be embedded: it ends with an array. */
	__u64 head[sizeof(struct rec_marker) / 8];
	struct rec_value values[FIELD_COUNT];
	struct rec_marker_stack stack;
	char name[TEXT_MAX];
};

/* A wait that ends. */
struct waking {
	struct rec woken; /* pid and tid of the thread that is woken; time */
	__u64 start; /* of the wait */
	char name[TEXT_MAX]; /* of the waker */
};

struct wakings {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waking);
};

struct wakings wakings SEC(".maps");

static __always_inline struct waking *own_waking(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wakings, &zero);
}

#define BEGINS(text, eight) (*(const __u64 *)(text) == *(const __u64 *)(eight))

static __always_inline enum frame_meaning meaning_of_name(const char *name)
{
	if (BEGINS(name, "try_to_wake_up") && name[8] == 'a')
		return MEANS_WAKING;
	/* x86-64; fred_extint() where the processor has FRED */
	if (BEGINS(name, "asm_sysvec_") || BEGINS(name, "asm_common_interrupt") ||
	    BEGINS(name, "fred_extint"))
		return MEANS_INTERRUPT;
	/* arm64 */
	if ((BEGINS(name, "el1h_64_irq") || BEGINS(name, "el0t_64_irq") ||
	     BEGINS(name, "el0t_32_irq")) &&
	    name[8] == 'i')
		return MEANS_INTERRUPT;
	return MEANS_NOTHING;
}

static __always_inline __u32 meaning_of(__u64 address)
{
	static const char format[] = "%ps";
	__u32 *known = bpf_map_lookup_elem(&frame_meanings, &address), meaning;
	__u64 arguments[] = {address};
	char name[24] = {};

	if (known)
		return *known;
	bpf_snprintf(name, sizeof(name), format, arguments, sizeof(arguments));
	meaning = meaning_of_name(name);
	bpf_map_update_elem(&frame_meanings, &address, &meaning, BPF_ANY);
	return meaning;
}

static long scan_frame(__u32 i, void *ctx)
{
	struct frame_scan *scan = ctx;
	__u32 meaning;

	if (i >= scan->count || i > KERNEL_DEPTH_MAX)
		return 1;
	meaning = meaning_of(scan->s->words[HEADER_WORDS - 1 + i]);
	if (meaning == MEANS_WAKING && !scan->skip)
		scan->skip = i;
	scan->is_interrupt |= meaning == MEANS_INTERRUPT;
	return scan->is_interrupt;
}

static __always_inline void set_value(struct rec_value *value, __u16 field, __u8 type, __u64 number)
{
	value->field = field;
	value->type = type;
	value->reserved = 0;
	value->size = 0;
	value->value = number;
}

/* `sample`: of the waker. False: the ring has no room for the marker. */
__noinline bool write_marker(const struct waking *w, const struct rec_sample *sample)
{
	struct bpf_counters *count = own_counters();
	struct waker_marker *marker;
	struct rec_marker *head;
	long size;

	if (!count || !w || !sample)
		return false;
	marker = emit_reserve(count, own_ring(), REC_MARKER, sizeof(*marker), w->woken.time);
	if (!marker)
		return false;
	head = (struct rec_marker *)marker->head;
	head->rec.flags = MARKER_CAUSE;
	head->rec.pid = w->woken.pid;
	head->rec.tid = w->woken.tid;
	head->start = w->start;
	head->schema = waker_schema;
	head->value_count = FIELD_COUNT;
	head->stack_count = 1;
	head->reserved = 0;
	head->name_size = head->category_size = 0;
	head->text_size = TEXT_MAX;
	__builtin_memset(marker->name, 0, TEXT_MAX);
	size = bpf_probe_read_kernel_str(marker->name, TEXT_MAX, w->name);
	set_value(&marker->values[FIELD_WAKER], FIELD_WAKER, REC_FIELD_STRING, 0);
	marker->values[FIELD_WAKER].size = size > 0 && size <= TEXT_MAX ? size - 1 : 0;
	set_value(&marker->values[FIELD_PID], FIELD_PID, REC_FIELD_PROCESS_ID, sample->rec.pid);
	set_value(&marker->values[FIELD_TID], FIELD_TID, REC_FIELD_THREAD_ID, sample->rec.tid);
	set_value(&marker->values[FIELD_STACK], FIELD_STACK, REC_FIELD_STACK, 0);
	set_marker_stack(&marker->stack, sample);
	emit_submit(marker, BPF_RB_NO_WAKEUP);
	return true;
}

/* Reads the kernel's stack. True: an interrupt is served, not the current task. */
static __always_inline bool capture_waking(void *ctx, struct stack_scratch *s)
{
	struct frame_scan scan = {.s = s};
	__u32 count;

	scan.count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1, 0);
	bpf_loop(KERNEL_DEPTH_MAX + 1, scan_frame, &scan, 0);
	if (scan.is_interrupt)
		return true;
	count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1,
			  scan.skip & BPF_F_SKIP_FIELD_MASK);
	take_kernel(s, count);
	return false;
}

/* Makes the marker. `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_waking(const struct rec_sample *sample)
{
	struct waking *w = own_waking();

	if (w && sample && write_marker(w, sample))
		__sync_fetch_and_add(&wakers_told, 1);
	else
		__sync_fetch_and_add(&wakers_lost, 1);
}

SEC("tp_btf/sched_waking")
int end_waking(void *ctx)
{
	finish_waking(ended_marker_sample());
	end_run(TIMED_WAKING, 0);
	return 0;
}

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_waking}};

/*
 * Names the waker. Returns its process, which has a kernel stack then. NULL: it is an interrupt, or
 * nobody who is recorded: the stacks of others are not what was asked for.
 */
static __always_inline struct tracked_process *name_waker(void *ctx, struct task_struct *task,
							  struct stack_scratch *s, struct waking *w,
							  struct rec_sample *sample)
{
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};

	/* An idle CPU ends no wait of its own accord. */
	if (!task->pid || capture_waking(ctx, s)) {
		bpf_probe_read_kernel_str(w->name, TEXT_MAX, (const void *)interrupt_name);
		return NULL;
	}
	task_pids(task, ids, &sample->rec.pid, &sample->rec.tid);
	bpf_probe_read_kernel_str(w->name, TEXT_MAX, task->comm);
	return process && !match_flags(task, ids, &sample->rec, task->comm) ? process : NULL;
}

static __always_inline void tell_waker(void *ctx, struct waking *w, struct stack_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec head = {.time = w->woken.time};
	struct rec_sample *sample = begin_marker_sample(&head);
	struct tracked_process *process;

	if (!sample)
		return;
	sample->rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF;
	sample->leaf = sample->stack_id = 0;
	begin_stack(s);
	s->depth_limit = WAIT_DEPTH_MAX;
	process = name_waker(ctx, task, s, w, sample);
	if (!process) {
		finish_waking(sample);
	} else if (!begin_marker_stack(process, sample)) {
		finish_waking(NULL);
	} else {
		capture_user(ctx, false, task, process, s, sample->rec.pid);
		end_stack(s);
		finish_waking(send_marker_stack(ctx, s, 0) ? sample : NULL);
	}
}

/* Does the wait that ends have a stack, and is it long? Sets its start. */
static __always_inline bool is_told(struct task_struct *task, struct wait_row *row, __u64 now,
				    __u64 *start)
{
	__u64 left = row->left;

	if (!row->is_off || task->on_cpu)
		return false;
	/* The task may still be leaving: what it writes then must not be mixed with what it wrote.
	 */
	__sync_lock_test_and_set(&fence, 1);
	if (left != row->left)
		return false;
	*start = left ? left : wakers_since;
	if (now < *start + WAKER_WAIT_NS)
		return false;
	return row->is_sampled || now - *start >= WAIT_CERTAIN_NS;
}

static __always_inline void tell_waking(void *ctx, struct task_struct *woken)
{
	struct wait_row *row = find_wait_row(woken);
	struct waking *w = own_waking();
	struct stack_scratch *s;
	struct task_ids ids;
	__u32 zero = 0;
	__u64 now;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!row || !wakers_since || !w || !s)
		return;
	now = bpf_ktime_get_ns();
	if (!is_told(woken, row, now, &w->start))
		return;
	ids = copy_ids(woken);
	rec_init(&w->woken, REC_MARKER, 0, now);
	if (!match_task(woken, ids, &w->woken))
		tell_waker(ctx, w, s);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *woken)
{
	RUN_TIMED(TIMED_WAKING, tell_waking(ctx, woken));
	return 0;
}
