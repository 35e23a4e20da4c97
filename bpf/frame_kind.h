/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kinds of frames on the wire, see record.h. */
#ifndef PROF_BPF_FRAME_KIND_H
#define PROF_BPF_FRAME_KIND_H

/*
 * Tells how the pc of a frame was found. The wire has one byte per frame, so that frames of any
 * kind can take their place in walk order.
 */
enum frame_kind {
	FRAME_NATIVE, /* user code, by unwinding */
	FRAME_KERNEL,
	FRAME_GUESS, /* user code, by scanning the stack for return addresses */
	FRAME_SIGNAL, /* interrupted by a signal: its address is a pc, not a return address */
	/*
	 * Code of a runtime, such as Python's: the address is a position, in a space that the whole
	 * recording has in common and in which no position is given twice. A REC_CODE names it.
	 */
	FRAME_MANAGED,
	FRAME_KIND_COUNT,
};

/* Positions below it have no name: the one with the number of a runtime, one of its functions. */
#define MANAGED_POSITION_FIRST 256

/*
 * The upper bits of a FRAME_MANAGED's address, above its position: whether the thread held the lock
 * of its interpreter, which lets one thread at a time run (Python's GIL).
 */
#define MANAGED_LOCK_SHIFT 62
enum managed_lock {
	MANAGED_LOCK_UNKNOWN, /* or not asked for */
	MANAGED_LOCK_HELD,
	MANAGED_LOCK_FREE, /* waited for it, or ran code that needs no lock */
};

#endif
