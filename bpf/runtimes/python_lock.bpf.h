/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lock of the interpreter, which lets one thread run at a time. */
#ifndef PROF_BPF_RUNTIMES_PYTHON_LOCK_BPF_H
#define PROF_BPF_RUNTIMES_PYTHON_LOCK_BPF_H

#include "bpf/runtimes/python_first_seen.bpf.h"

/* Does the thread whose state was read hold the lock? Returns an enum managed_lock. */
__noinline int python_find_lock(struct python_walk *w)
{
	__u64 gil, holder;
	__u32 locked = 1;

	if (!w)
		return MANAGED_LOCK_UNKNOWN;
	if (!w->layout.gil)
		gil = w->bias + w->layout.runtime;
	else if (!python_read(thread_word(w, w->layout.thread_interpreter) + w->layout.gil, &gil) ||
		 bpf_probe_read_user(&locked, sizeof(locked),
				     (const void *)(gil + w->layout.gil_locked)))
		return MANAGED_LOCK_UNKNOWN;
	if (!python_read(gil + w->layout.gil_holder, &holder))
		return MANAGED_LOCK_UNKNOWN;
	return locked && holder == w->thread ? MANAGED_LOCK_HELD : MANAGED_LOCK_FREE;
}

static __always_inline void python_note_lock(struct python_walk *w, struct runtime_counters *count)
{
	__u64 lock;

	w->lock = 0;
	if (!config.locks)
		return;
	lock = python_find_lock(w);
	w->lock = lock << MANAGED_LOCK_SHIFT;
	count->locked += lock == MANAGED_LOCK_HELD;
	count->unlocked += lock == MANAGED_LOCK_FREE;
}

#endif
