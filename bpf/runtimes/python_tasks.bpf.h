/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Labels of asyncio's tasks: sends the names of the task that a sampled thread runs, and of the one
 * that awaits it, if they have changed. All addresses come from the target and are untrusted.
 */
#pragma once

#include "bpf/runtimes/python_frames.bpf.h"

/* Time after which labels already sent are sent again: they may have been lost. */
#define LABELS_REPEAT_NS 1000000000ull
/* Maximum futures between a task and the one that awaits it: gather() has one. */
#define AWAITERS_MAX 4

struct python_tasks {
	char head[sizeof(struct rec_labels)];
	struct rec_label labels[2];
	__u32 count, padding;
	__u32 characters[LABEL_VALUE_MAX]; /* of a name, of any width */
};

PER_CPU(struct python_tasks, OWN_MAP(python_labels), own_python_tasks)

static const char unnamed_task[] = "Task-%llu";
static const char task_key[] = "task", awaiter_key[] = "awaiter";

struct name_loop {
	struct python_tasks *t;
	__u32 at, width;
};

/* Copies a character; those that are not ASCII become "?". */
static __always_inline bool copy_character(const struct name_loop *loop, __u32 i)
{
	const struct python_tasks *t = loop->t;
	__u32 at = loop->at & 1, c;

	barrier_var(i);
	if (i >= LABEL_VALUE_MAX)
		return false;
	c = loop->width == 1   ? ((const __u8 *)t->characters)[i]
	    : loop->width == 2 ? ((const __u16 *)t->characters)[i]
			       : t->characters[i];
	loop->t->labels[at].value[i] = c < 0x80 ? c : '?';
	return true;
}

LOOP_CALLBACK(copy_name_character, name_loop, copy_character(loop, i))

/* Copies the text of a str, whose header was read, into a label. */
static __always_inline bool copy_task_name(const struct python_walk *w, struct python_tasks *t,
					   __u32 at, __u64 name, const __u64 *header)
{
	__u32 state = header[4] >> w->layout.string_kind_shift, width = state & 7;
	struct name_loop loop = {.t = t, .at = at, .width = width};
	__u64 length = header[2], size;

	if (!(state & 8) || (width != 1 && width != 2 && width != 4))
		return false;
	name += state & 16 ? w->layout.string_ascii : w->layout.string_other;
	if (length > LABEL_VALUE_MAX) {
		t->labels[at].flags = LABEL_CUT;
		length = LABEL_VALUE_MAX;
	}
	size = length * width;
	barrier_var(size);
	if (size > sizeof(t->characters) ||
	    bpf_probe_read_user(t->characters, size, (const void *)name))
		return false;
	t->labels[at].value_size = length;
	bpf_loop(length, copy_name_character, &loop, 0);
	return true;
}

/*
 * Reads the name of a task into label `at`. It is a number until something asks for it, or a str.
 * Returns 0 if it is unreadable.
 */
__noinline int python_label_task(struct python_walk *w, struct python_tasks *t, __u64 task,
				 __u32 at)
{
	__u64 header[5], name, number;
	struct rec_label *label;

	if (!w || !t || at > 1 || !python_read(task + w->layout.task_name, &name) || !name ||
	    bpf_probe_read_user(header, sizeof(header), (const void *)name))
		return 0;
	label = &t->labels[at];
	__builtin_memset(label, 0, sizeof(*label));
	label->key_size = at ? sizeof(awaiter_key) - 1 : sizeof(task_key) - 1;
	bpf_probe_read_kernel(label->key, at ? sizeof(awaiter_key) - 1 : sizeof(task_key) - 1,
			      at ? awaiter_key : task_key);
	if (header[1] == w->layout.string_type + w->bias)
		return copy_task_name(w, t, at, name, header);
	/* An int of one digit, which may be immortal. */
	if ((header[2] & ~4ull) != 1 << 3)
		return 0;
	number = (__u32)header[3];
	label->value_size = bpf_snprintf(label->value, sizeof(label->value), unnamed_task, &number,
					 sizeof(number)) -
			    1;
	return 1;
}

/* Returns the task that awaits a task; 0: none, or several. */
__noinline __u64 python_find_awaiter(struct python_walk *w, __u64 task)
{
	struct {
		__u8 is_task, is_set;
	} kind;

	if (!w)
		return 0;
	for (int i = 0; i < AWAITERS_MAX; i++) {
		if (bpf_probe_read_user(&kind, sizeof(kind),
					(const void *)(task + w->layout.task_kind)) ||
		    kind.is_set || !python_read(task + w->layout.task_awaiter, &task) || !task ||
		    bpf_probe_read_user(&kind, sizeof(kind),
					(const void *)(task + w->layout.task_kind)))
			return 0;
		if (kind.is_task)
			return task;
	}
	return 0;
}

/* Hashes both labels; the second is empty if there is one. */
static __always_inline __u64 hash_labels(const struct python_tasks *t)
{
	const __u64 *words = (const __u64 *)t->labels;
	__u64 hash = 0;

	for (__u32 i = 0; i < sizeof(t->labels) / 8; i++)
		hash = mix_bits(hash ^ words[i]);
	return t->count ? hash : 0;
}

/* Sends the labels, if they differ from the thread's last ones. */
static __always_inline void send_task_labels(struct python_tasks *t, struct python_thread *thread,
					     const struct rec *like)
{
	__u64 hash = hash_labels(t);
	struct rec_labels *rec = (struct rec_labels *)t->head;
	struct bpf_counters *count = own_counters();
	__u32 size = sizeof(t->head) + t->count * sizeof(struct rec_label);
	void *ring = own_ring();

	if (!count || !ring ||
	    (thread->labels == hash &&
	     (!hash || like->time - thread->labels_time < LABELS_REPEAT_NS)))
		return;
	rec->rec = *like;
	rec->rec.kind = REC_LABELS;
	rec->rec.flags = rec->rec.weight = 0;
	rec->rec.words = size / 8;
	rec->count = t->count;
	rec->more = 0;
	rec->set = LABELS_OF_WORK;
	barrier_var(size);
	if (size > sizeof(t->head) + sizeof(t->labels))
		return;
	/* Without room, they are sent with the thread's next stack. */
	if (!emit_output(count, ring, t->head, size, BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&count->lost_events, 1);
		return;
	}
	thread->labels = hash;
	thread->labels_time = like->time;
}

/* Labels the sample of the thread whose state was found. */
__noinline int python_label_thread(struct python_walk *w, const struct rec *like)
{
	struct python_tasks *t = own_python_tasks();
	struct python_thread *thread;
	__u64 task, awaiter;

	if (!w || !like || !t)
		return 0;
	thread = python_known_thread(w);
	if (!thread || !python_read(w->thread + w->layout.thread_task, &task))
		return 0;
	t->count = 0;
	__builtin_memset(&t->labels[1], 0, sizeof(t->labels[1]));
	if (task && python_label_task(w, t, task, 0)) {
		awaiter = python_find_awaiter(w, task);
		t->count = awaiter && python_label_task(w, t, awaiter, 1) ? 2 : 1;
	}
	send_task_labels(t, thread, like);
	return 0;
}
