/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of threads off the CPU. See record.h. */
#pragma once

#include "bpf/record_head.h"

/*
 * Reason why a thread left the CPU: its state, without the kernel's bits for signals, freezing and
 * frozen mounts.
 */
enum wait_state {
	WAIT_RUNNABLE, /* preempted, or it yielded: waits only for a CPU */
	WAIT_SLEEPING, /* interruptible */
	WAIT_UNINTERRUPTIBLE, /* counts as load: disk, page fault, kernel lock, vfork */
	WAIT_IDLE, /* uninterruptible, but no load: kernel threads without work */
	WAIT_STOPPED,
	WAIT_TRACED,
	WAIT_DEAD, /* no wait: the thread has left its last CPU */
	WAIT_OTHER, /* parked, new: kernel threads */
	WAIT_STATE_COUNT,
};

/* wait_reason.flags */
enum {
	WAIT_IO = 1 << 0, /* the kernel counts it as waiting for I/O; io_uring_enter always does */
	WAIT_COMPAT = 1 << 1, /* call is of the table of 32-bit programs */
};

#define WAIT_CALL_UNKNOWN (-2)

struct wait_reason {
	/*
	 * Number of the thread's system call; -1 if it was preempted, or waits for a page, in user
	 * code. A fault inside a call shows the call; only frames reveal the fault.
	 * WAIT_CALL_UNKNOWN if the recorder does not report the call.
	 */
	__s32 call;
	__u8 state; /* enum wait_state */
	__u8 flags; /* WAIT_IO, WAIT_COMPAT */
	__u16 argument; /* the call's first argument plus 1; 0: larger, or not known */
};

/*
 * A wait of at least this length is never lost, whatever its probability: it is sampled, or its
 * thread is visited while it waits, or its REC_RUN reports it.
 */
#define WAIT_CERTAIN_NS 50000000ull

/*
 * The stack of a waiting thread, taken as it leaves the CPU or while it waits. A thread that left
 * the CPU for good is reported with WAIT_DEAD, without a stack, and with the thread's whole CPU
 * time; its REC_EXIT comes before.
 *
 * A wait may have two such records with the same `start`: a sampled one, then one from a visit. It
 * ends with the thread's next REC_RUN. If that was lost, the wait ended at an unknown time before
 * the thread's next REC_SAMPLE, REC_EVENT, REC_EXIT or REC_WAIT with another start; at the end of
 * the recording it may still go on. Short waits that were not sampled have no record.
 */
struct rec_wait {
	/*
	 * Like REC_SAMPLE, except that weight is 0; rec.time is when the stack was taken. rec.cpu
	 * is the CPU that wrote it, which for a visit is not the thread's.
	 */
	struct rec_sample sample;
	/*
	 * CLOCK_MONOTONIC ns when it left the CPU, at most rec.time, which it equals unless the
	 * thread was visited; 0: before the recording or before the thread was known.
	 */
	__u64 start;
	/*
	 * Probability with which it was sampled, in units of 2^-32: it represents waits of its
	 * length divided by this, in the same thread. 0: it represents only itself.
	 */
	__u32 chance;
	__u32 reserved;
	struct wait_reason reason;
};

/* rec.flags of REC_RUN */
enum {
	RUN_SAMPLED = 1 << 0, /* the wait has a REC_WAIT that was sampled as the thread left */
	RUN_QUEUE_UNKNOWN = 1 << 1, /* the kernel does not report `queued` */
	RUN_WOKEN = 1 << 2, /* ends with a struct run_waker */
	RUN_BY_INTERRUPT = 1 << 3, /* with RUN_WOKEN: an interrupt, not a thread, ended the wait */
	RUN_SHORT = 1 << 4, /* short and not sampled: only the critical path needs it */
};

/* The thread that ended a wait; no pids with RUN_BY_INTERRUPT. */
struct run_waker {
	__u64 woken; /* CLOCK_MONOTONIC ns; may be a little before the start of the wait */
	__u32 pid, tid;
};

/*
 * A thread runs again, on rec.cpu since rec.time, after a wait that was sampled or long: at least
 * two intervals of the clock, or WAIT_CERTAIN_NS; with RUN_SHORT, after any other.
 */
struct rec_resumed {
	struct rec rec;
	__u64 start; /* as in struct rec_wait */
	__u64 queued; /* ns of rec.time - start in which it was runnable and waited for a CPU */
	__u32 cpu_time; /* as in struct rec_sample; the same as when it left */
	__u32 chance; /* as in struct rec_wait; with RUN_SAMPLED only */
	struct wait_reason reason; /* as when it left; with RUN_WOKEN, a struct run_waker follows */
};

_Static_assert(sizeof(struct wait_reason) == 8, "wire format");
_Static_assert(sizeof(struct run_waker) == 16, "wire format");
