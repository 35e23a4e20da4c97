// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds the frames of a runtime to stacks and sends them: on_python() etc. Compiled for each
 * RUNTIME_NAME and for each kind of stacks:
 *
 *	STACKS_OF_samples
 *	STACKS_OF_waits		as a wait begins: the end of on_switch, with the same restrictions
 *				(bpf/probes/waits.bpf.c)
 *	STACKS_OF_markers	for each type of program that takes such stacks
 *
 * The last two use the maps of the probe's object and, to remember functions and threads, those of
 * the samples' object.
 */
#ifdef STACKS_OF_samples
#include "bpf/runtimes/pending.bpf.h"
#else
#include "bpf/own_scratch.bpf.h"
#endif

#include RUNTIME_STACK_HEADER

#define NAME_OF(before, name, after) before##name##after
#define NAME(before, name, after) NAME_OF(before, name, after)
#define ADD_FRAMES NAME(, RUNTIME_NAME, _add_frames)

/* Continues a program of that type, and ends like it. */
#define PROGRAM(section, suffix, finish) \
	SEC(section) \
	int NAME(on_, RUNTIME_NAME, suffix)(void *ctx) \
	{ \
		finish; \
		return 0; \
	}

#if defined(STACKS_OF_samples)
PROGRAM("perf_event", , finish_pending(ctx, &runtime_programs, ADD_FRAMES))
PROGRAM("tracepoint", _tracepoint, finish_pending(ctx, &runtime_tracepoints, ADD_FRAMES))
#elif defined(STACKS_OF_waits)
#include "bpf/runtimes/pending_wait.bpf.h"

PROGRAM("tp_btf/sched_switch", _wait, finish_wait(ctx, ADD_FRAMES))
#else
#include "bpf/runtimes/pending_marker.bpf.h"

PROGRAM("raw_tp", _marker, finish_marker(ctx, ADD_FRAMES))
PROGRAM("tp_btf/sched_waking", _waking, finish_marker(ctx, ADD_FRAMES))
PROGRAM("perf_event", _fault, finish_marker(ctx, ADD_FRAMES))
PROGRAM("tracepoint", _event, finish_marker(ctx, ADD_FRAMES))
PROGRAM("uprobe", _probe, finish_marker(ctx, ADD_FRAMES))
#endif
