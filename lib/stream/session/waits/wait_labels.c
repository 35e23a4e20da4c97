/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/waits/wait_labels.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/model/meaning/label_frames.h"

void wait_labels_init(struct wait_labels *l, struct profile *p)
{
	*l = (struct wait_labels){.profile = p};
}

static stack_id add_label(struct wait_labels *l, stack_id stack, const char *text,
			  struct frame_category category)
{
	struct profile *p = l->profile;
	string_id name = strings_intern(&p->strings, text);

	return stacks_intern(&p->stacks, stack, label_frames_intern(p, name, category));
}

/* By any program's file: all of a machine have one native table. */
static enum system_call_table native_table(const struct profile *p)
{
	vec_for_each(&p->modules.rows, const struct module *, module) {
		if (module->machine == EM_AARCH64)
			return CALLS_ARM64;
		if (module->machine == EM_X86_64)
			break;
	}
	return CALLS_X86_64;
}

/* NULL: unknown, as are all calls of 32-bit programs but those of i386. */
static const struct system_call *find_call(struct wait_labels *l, const struct wait_reason *reason)
{
	enum system_call_table table = native_table(l->profile);
	uint32_t number = (uint32_t)reason->call;

	if (reason->flags & WAIT_COMPAT) {
		if (table != CALLS_X86_64)
			return NULL;
		table = CALLS_I386;
	}
	if (number >= WAIT_LABEL_CALLS)
		return NULL;
	if (!l->is_known[table][number]) {
		l->calls[table][number] = system_call_find(table, reason->call);
		l->is_known[table][number] = true;
	}
	return l->calls[table][number];
}

static struct frame_category idle(enum idle_subcategory subcategory)
{
	return (struct frame_category){CATEGORY_IDLE, (uint8_t)subcategory};
}

/*
 * The kernel says of io_uring_enter that it waits for I/O whatever it waits for. A call that waits
 * for time or events is not interrupted by signals only while it is held up by something else.
 */
static struct frame_category category_of_call(const struct system_call *call,
					      const struct wait_reason *reason)
{
	static const uint8_t subcategories[] = {
		[CALL_WAIT_OTHER] = IDLE_OTHER,	  [CALL_WAIT_EVENT] = IDLE_OTHER,
		[CALL_WAIT_TIMER] = IDLE_OTHER,	  [CALL_WAIT_LOCK] = IDLE_LOCK,
		[CALL_WAIT_DISK] = IDLE_DISK,	  [CALL_WAIT_PIPE] = IDLE_PIPE,
		[CALL_WAIT_SOCKET] = IDLE_SOCKET, [CALL_WAIT_CHILD] = IDLE_CHILD,
	};
	bool is_io = reason->flags & WAIT_IO;

	if (!call)
		return idle(is_io ? IDLE_DISK : IDLE_OTHER);
	if (strcmp(call->name, "io_uring_enter") == 0)
		return idle(IDLE_OTHER);
	if (call->waits_for == CALL_WAIT_TIMER && reason->state == WAIT_SLEEPING)
		return idle(IDLE_TIMER);
	if (call->waits_for == CALL_WAIT_EVENT && reason->state == WAIT_SLEEPING)
		return idle(IDLE_FOR_WORK);
	return idle(is_io ? IDLE_DISK : subcategories[call->waits_for]);
}

static stack_id add_call(struct wait_labels *l, stack_id stack, const struct wait_reason *reason)
{
	const struct system_call *call = find_call(l, reason);
	char text[64];

	if (call)
		snprintf(text, sizeof(text), "[%s]", call->name);
	else
		snprintf(text, sizeof(text), "[system call %" PRId32 "]", reason->call);
	return add_label(l, stack, text, category_of_call(call, reason));
}

static stack_id add_kernel_thread(struct wait_labels *l, stack_id stack,
				  const struct wait_reason *reason)
{
	struct frame_category category = idle(IDLE_FOR_WORK);

	if (reason->state == WAIT_UNINTERRUPTIBLE)
		category = idle(reason->flags & WAIT_IO ? IDLE_DISK : IDLE_OTHER);
	return add_label(l, stack, "[kernel thread]", category);
}

stack_id wait_labels_add(struct wait_labels *l, stack_id stack, const struct wait_reason *reason,
			 bool is_kernel_thread)
{
	if (reason->state == WAIT_RUNNABLE)
		return add_label(l, stack, "[preempted]", idle(IDLE_PREEMPTED));
	if (reason->state == WAIT_STOPPED)
		return add_label(l, stack, "[stopped]", idle(IDLE_OTHER));
	if (reason->state == WAIT_TRACED)
		return add_label(l, stack, "[traced]", idle(IDLE_OTHER));
	if (is_kernel_thread)
		return add_kernel_thread(l, stack, reason);
	if (reason->call >= 0)
		return add_call(l, stack, reason);
	if (reason->call == WAIT_CALL_UNKNOWN)
		return add_label(l, stack, "[waiting]", idle(IDLE_OTHER));
	/* User code that makes no call waits for nothing else. */
	return add_label(l, stack, "[page fault]", idle(IDLE_FAULT));
}

stack_id wait_labels_add_queued(struct wait_labels *l, stack_id stack)
{
	return add_label(l, stack, "[queued]", idle(IDLE_QUEUED));
}
