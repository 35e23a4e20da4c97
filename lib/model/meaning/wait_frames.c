/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/wait_frames.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/parked.h"
#include "lib/model/meaning/slow_waits.h"

/* Things that functions of the kernel wait for. */
enum meaning {
	MEANS_NOTHING,
	MEANS_WORK, /* an event, or something to do */
	MEANS_TIMER,
	MEANS_LOCK,
	MEANS_FUTEX, /* a lock, unless the program's functions tell */
	MEANS_CONDITION,
	MEANS_DISK, /* or a page that is read from there */
	MEANS_FAULT,
	MEANS_PIPE,
	MEANS_SOCKET,
	MEANS_CHILD,
	NOT_ASKED = UINT8_MAX,
};

/* By how names begin, the first that fits. */
static const struct {
	const char *prefix;
	uint8_t meaning;
} prefixes[] = {
	{"futex_wait", MEANS_FUTEX},
	{"__futex_wait", MEANS_FUTEX},
	{"rwsem_down_", MEANS_LOCK},
	{"__mutex_lock", MEANS_LOCK},
	{"__ww_mutex_lock", MEANS_LOCK},
	{"mutex_lock", MEANS_LOCK},
	{"rt_mutex_slow", MEANS_LOCK},
	{"__rt_mutex", MEANS_LOCK},
	{"__down_", MEANS_LOCK},
	{"percpu_rwsem_wait", MEANS_LOCK},
	{"flock_lock_inode_wait", MEANS_LOCK},
	{"posix_lock_inode_wait", MEANS_LOCK},
	{"locks_lock_inode_wait", MEANS_LOCK},
	{"do_lock_file_wait", MEANS_LOCK},
	{"__do_semtimedop", MEANS_LOCK},
	{"do_semtimedop", MEANS_LOCK},
	{"pipe_", MEANS_PIPE},
	{"anon_pipe_", MEANS_PIPE},
	{"fifo_open", MEANS_PIPE},
	{"wait_for_partner", MEANS_PIPE},
	{"splice_from_pipe", MEANS_PIPE},
	{"splice_to_pipe", MEANS_PIPE},
	{"unix_", MEANS_SOCKET},
	{"sk_wait_data", MEANS_SOCKET},
	{"sk_stream_wait", MEANS_SOCKET},
	{"inet_csk_", MEANS_SOCKET},
	{"inet_wait_for_connect", MEANS_SOCKET},
	{"__inet_stream_connect", MEANS_SOCKET},
	{"__skb_wait_for_more_packets", MEANS_SOCKET},
	{"tcp_", MEANS_SOCKET},
	{"udp_", MEANS_SOCKET},
	{"netlink_", MEANS_SOCKET},
	{"vsock_", MEANS_SOCKET},
	{"sock_", MEANS_SOCKET},
	{"do_wait", MEANS_CHILD},
	{"kernel_wait4", MEANS_CHILD},
	{"wait_for_vfork_done", MEANS_CHILD},
	{"do_epoll_wait", MEANS_WORK},
	{"ep_poll", MEANS_WORK},
	{"do_poll", MEANS_WORK},
	{"do_sys_poll", MEANS_WORK},
	{"do_select", MEANS_WORK},
	{"do_nanosleep", MEANS_TIMER},
	{"hrtimer_nanosleep", MEANS_TIMER},
	{"do_sigtimedwait", MEANS_WORK},
	{"sigsuspend", MEANS_WORK},
	{"io_schedule", MEANS_DISK},
	{"submit_bio_wait", MEANS_DISK},
	{"folio_wait_", MEANS_DISK},
	{"wait_on_page_", MEANS_DISK},
	{"jbd2_log_wait", MEANS_DISK},
	{"jbd2_journal", MEANS_DISK},
	{"xfs_log_force", MEANS_DISK},
	{"__iomap_dio_rw", MEANS_DISK},
	{"blk_mq_get_tag", MEANS_DISK},
	{"rq_qos_wait", MEANS_DISK},
	{"p9_client_rpc", MEANS_DISK},
	{"nfs", MEANS_DISK},
	{"fuse_", MEANS_DISK},
	{"exc_page_fault", MEANS_FAULT},
	{"asm_exc_page_fault", MEANS_FAULT},
	{"do_user_addr_fault", MEANS_FAULT},
	{"handle_mm_fault", MEANS_FAULT},
	{"do_page_fault", MEANS_FAULT},
	{"do_mem_abort", MEANS_FAULT},
};

/* Innermost functions of a program that are looked at. */
#define USER_FRAMES 12

/* Functions of programs that wait for other things than a lock by the same call. */
static const char *const conditions[] = {
	"pthread_cond_",    "__pthread_cond_", "___pthread_cond_",  "cnd_",
	"pthread_barrier_", "pthread_join",    "pthread_timedjoin", "__pthread_timedjoin",
	"pthread_clock",    "__pthread_clock", "thrd_join",	    "sem_",
	"__new_sem_",	    "runtime.note",
};

/*
 * Locks that are made of conditions: those of Python, monitors of Java, and the locks of its
 * library, whose conditions wait by other functions.
 */
static const char *const locks[] = {
	"take_gil",
	"PyThread_acquire_lock",
	"ObjectMonitor::enter",
	"ObjectMonitor::EnterI",
	"ObjectMonitor::ReenterI",
	"ObjectMonitor::reenter",
	"java.util.concurrent.locks.ReentrantLock",
	"java.util.concurrent.locks.ReentrantReadWriteLock",
	"java.util.concurrent.locks.StampedLock.acquire",
};

static bool begins_with_one(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (text_starts_with(name, list[i]))
			return true;
	}
	return false;
}

#define BEGINS_WITH_ONE(name, list) begins_with_one(name, list, sizeof(list) / sizeof(*(list)))

static bool is_condition(const char *name)
{
	/* Functions of Rust are within other names. */
	return BEGINS_WITH_ONE(name, conditions) || strstr(name, "Condvar::wait") ||
	       strstr(name, "Parker::park");
}

static const struct frame *frame_of(const struct profile *p, stack_id id)
{
	return &p->frames.rows.items[p->stacks.rows.items[id].frame];
}

/*
 * Tells what a thread waits for by a futex, from its own functions, the innermost of which is that
 * of `id`.
 */
static uint8_t meaning_of_futex(const struct profile *p, stack_id id)
{
	enum parked parked = parked_of_stack(p, id);
	uint8_t meaning = MEANS_LOCK;

	if (parked != PARKED_NOT)
		return parked == PARKED_FOR_TIME ? MEANS_TIMER : MEANS_WORK;
	if (parked_is_by_jump(p, id))
		meaning = MEANS_CONDITION;
	id = parked_call(p, id);
	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		const char *name = parked_frame_name(p, frame_of(p, id));

		id = p->stacks.rows.items[id].parent;
		if (BEGINS_WITH_ONE(name, locks))
			return MEANS_LOCK;
		if (is_condition(name))
			meaning = MEANS_CONDITION;
	}
	return meaning;
}

/* Functions of programs that wait for an event which others cause: those of PostgreSQL. */
static const struct {
	const char *prefix;
	uint8_t meaning;
} events[] = {
	{"ProcSleep", MEANS_LOCK},
	{"ProcWaitForSignal", MEANS_LOCK},
	{"ConditionVariableSleep", MEANS_CONDITION},
	{"ConditionVariableTimedSleep", MEANS_CONDITION},
	{"SyncRepWaitForLSN", MEANS_CONDITION},
};

/* Tells what a thread waits for by an event, from its own functions. */
static uint8_t meaning_of_event(const struct profile *p, stack_id id)
{
	while (id != NO_STACK && frame_of(p, id)->kind == PROFILE_FRAME_KERNEL)
		id = p->stacks.rows.items[id].parent;
	id = parked_call(p, id);
	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		const char *name = parked_frame_name(p, frame_of(p, id));

		for (size_t e = 0; e < sizeof(events) / sizeof(*events); e++) {
			if (text_starts_with(name, events[e].prefix))
				return events[e].meaning;
		}
		id = p->stacks.rows.items[id].parent;
	}
	return MEANS_WORK;
}

static uint8_t find_meaning(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (text_starts_with(name, prefixes[i].prefix))
			return prefixes[i].meaning;
	}
	return MEANS_NOTHING;
}

/* `known`: by function, or NULL. */
static uint8_t meaning_of(const struct profile *p, const struct frame *frame, uint8_t *known)
{
	if (frame->func == NO_FUNC)
		return MEANS_NOTHING;
	if (!known)
		return find_meaning(parked_frame_name(p, frame));
	if (known[frame->func] == NOT_ASKED)
		known[frame->func] = find_meaning(parked_frame_name(p, frame));
	return known[frame->func];
}

/*
 * The innermost function of the kernel decides, except that pages of a fault come from the disk.
 */
static uint8_t meaning_of_stack(const struct profile *p, stack_id id, uint8_t *known)
{
	uint8_t meaning, found = MEANS_NOTHING;

	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = frame_of(p, id);

		if (frame->kind != PROFILE_FRAME_KERNEL)
			break;
		meaning = meaning_of(p, frame, known);
		if (meaning == MEANS_NOTHING || (found && meaning != MEANS_FAULT))
			continue;
		found = meaning;
		if (found != MEANS_DISK && found != MEANS_FUTEX)
			break;
	}
	return found == MEANS_FUTEX ? meaning_of_futex(p, id) : found;
}

static func_id page_fault(struct profile *p)
{
	const struct func func = {
		.name = strings_intern(&p->strings, "[page fault]"),
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};

	return funcs_intern(&p->funcs, &func);
}

static void refine(struct profile *p, struct frame *label, uint8_t meaning)
{
	static const uint8_t subcategories[] = {
		[MEANS_WORK] = IDLE_FOR_WORK,	    [MEANS_TIMER] = IDLE_TIMER,
		[MEANS_LOCK] = IDLE_LOCK,	    [MEANS_DISK] = IDLE_DISK,
		[MEANS_FAULT] = IDLE_FAULT,	    [MEANS_PIPE] = IDLE_PIPE,
		[MEANS_SOCKET] = IDLE_SOCKET,	    [MEANS_CHILD] = IDLE_CHILD,
		[MEANS_CONDITION] = IDLE_CONDITION,
	};

	if (meaning == MEANS_NOTHING)
		return;
	label->subcategory = subcategories[meaning];
	if (meaning == MEANS_FAULT)
		label->func = page_fault(p);
}

/*
 * Functions of the scheduler between the one that waits and the end of the stack. The kernel leaves
 * them out of the stack of a thread that sleeps already.
 */
static const char *const scheduler[] = {
	"__schedule",
	"schedule",
	"schedule_timeout",
	"schedule_preempt_disabled",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"io_schedule",
	"io_schedule_timeout",
	"do_nanosleep",
};

static bool is_scheduler(const struct profile *p, const struct frame *frame)
{
	const char *name = parked_frame_name(p, frame);

	if (frame->kind != PROFILE_FRAME_KERNEL)
		return false;
	for (size_t i = 0; i < sizeof(scheduler) / sizeof(*scheduler); i++) {
		if (strcmp(name, scheduler[i]) == 0)
			return true;
	}
	return false;
}

/* Returns the stack without the scheduler's innermost functions. */
static stack_id leave_scheduler(const struct profile *p, stack_id id)
{
	while (id != NO_STACK) {
		if (!is_scheduler(p, frame_of(p, id)))
			break;
		id = p->stacks.rows.items[id].parent;
	}
	return id;
}

/* Refines a label on a stack. Returns the stack that it then stands on. */
static stack_id refine_label(struct profile *p, stack_id stack, struct frame *label, uint8_t *known)
{
	uint8_t meaning;

	if (label->category == CATEGORY_IDLE && !idle_is_runnable(label->subcategory)) {
		meaning = meaning_of_stack(p, stack, known);
		/* Without names of the kernel, the system call tells that it is for an event. */
		if (meaning == MEANS_WORK ||
		    (meaning == MEANS_NOTHING && label->subcategory == IDLE_FOR_WORK))
			meaning = meaning_of_event(p, stack);
		refine(p, label, meaning);
	}
	return leave_scheduler(p, stack);
}

stack_id wait_frames_add(struct profile *p, stack_id stack, frame_id label)
{
	struct frame frame = *frames_get(&p->frames, label);

	stack = refine_label(p, stack, &frame, NULL);
	return stacks_intern(&p->stacks, stack, frames_intern(&p->frames, &frame));
}

static bool has_labels(const struct profile *p)
{
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->kind == PROFILE_FRAME_LABEL)
			return true;
	}
	return false;
}

void wait_frames_refine(struct profile *p)
{
	struct frames frames = {0};
	struct stacks stacks = {0};
	uint8_t *known;
	stack_id *map;

	if (!has_labels(p)) {
		slow_waits_classify(p);
		return;
	}
	known = memset(xmalloc(p->funcs.rows.count + 1), NOT_ASKED, p->funcs.rows.count + 1);
	map = xcalloc(p->stacks.rows.count + 1, sizeof(*map));
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		struct frame frame = p->frames.rows.items[stack->frame];
		stack_id parent = stack->parent;

		if (frame.kind == PROFILE_FRAME_LABEL)
			parent = refine_label(p, parent, &frame, known);
		map[id] = stacks_intern(&stacks, parent == NO_STACK ? NO_STACK : map[parent],
					frames_intern(&frames, &frame));
	}
	profile_replace_stacks(p, &frames, &stacks, map);
	parked_mark_java(p);
	slow_waits_classify(p);
	free(map);
	free(known);
}
