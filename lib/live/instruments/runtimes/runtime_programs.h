/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that follow runtimes. Each is loaded when the first file with its runtime is mapped.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_PROGRAMS_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_PROGRAMS_H

#include "bpf/runtime_layout.h"
#include "lib/live/bpf/programs.h"

/*
 * Probes whose markers have stacks with the functions of runtimes:
 *
 *	ROW(name, PART, object, suffix, of)
 *
 * name    is passed through
 * PART    becomes RUNTIME_<PART>
 * object  name of the probe's BPF object
 * suffix  of the runtime's program that goes on to the probe's end, by the probe's type: "_marker"
 *         of raw tracepoints, "_fault" of perf events, "_waking" of typed tracepoints
 * of      which stacks those are, for messages
 */
#define MARKER_PROBES(ROW, name) \
	ROW(name, SYSCALLS, "syscalls_bpf", "_marker", " of system calls") \
	ROW(name, SIGNALS, "signals_bpf", "_marker", " of signals") \
	ROW(name, IO, "io_bpf", "_marker", " of I/O") \
	ROW(name, NET, "net_bpf", "_marker", " of connections") \
	ROW(name, FAULTS, "faults_bpf", "_fault", " of major faults") \
	ROW(name, PAGES, "pages_bpf", "_fault", " of pages") \
	ROW(name, WAKERS, "wakers_bpf", "_waking", " of wakers")

/* Kinds of stacks. Each has a BPF object. */
enum runtime_part {
	RUNTIME_SAMPLES, /* ticks and events */
	RUNTIME_WAITS,
#define MARKER_PART(name, PART, ...) RUNTIME_##PART,
	MARKER_PROBES(MARKER_PART, ) /* of markers, by their probe */
#undef MARKER_PART
	RUNTIME_PART_COUNT,
};

/* The programs of a runtime. A zeroed array of them, by enum runtime_kind, has none loaded. */
struct runtime_program {
	struct runtime_skeleton {
		const struct runtime_object *object; /* NULL: never loaded */
		struct programs *programs;
		void *skeleton; /* NULL: not loaded; `programs` closes it */
		bool has_failed; /* it could not be loaded */
	} parts[RUNTIME_PART_COUNT];
};

/*
 * Loads the program of `kind` for such stacks, unless it is loaded, has failed, does not exist, or
 * no such stacks are recorded. RUNTIME_SAMPLES comes first. 0 or a negative errno.
 */
int runtime_program_load(struct runtime_program *program, uint32_t kind, enum runtime_part part,
			 struct programs *programs, struct error *err);

/* Stores the description of a process for the programs of its runtime. 0 or a negative errno. */
int runtime_program_set_process(const struct runtime_program *program, uint32_t pid,
				const void *process, struct error *err);

/* Counts of Go's program. */
struct go_label_counts {
	uint64_t samples; /* of programs that set labels */
	uint64_t labelled; /* samples with labels */
	uint64_t unreadable; /* samples with an unreadable label, of which none is taken */
};

/* `program` is that of RUNTIME_GO. */
struct go_label_counts runtime_program_go(const struct runtime_program *program);

#endif
