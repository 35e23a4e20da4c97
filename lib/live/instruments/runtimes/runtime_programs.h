/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that follow runtimes. Each is loaded when the first file with its runtime is mapped.
 */
#pragma once

#include "bpf/runtime_layout.h"
#include "lib/live/bpf/programs.h"
#include "lib/model/facts/facts.h"

/*
 * Probes whose stacks may contain functions of runtimes. TRACEPOINT: tracepoints by perf events;
 * UPROBE: functions in user code.
 */
#define RUNTIME_PROBES(ROW, with) \
	MARKER_PROBES(ROW, with) \
	WAKERS_PROBE(ROW, with) \
	ROW(pages, PAGES, , , PERF, " of pages", with) \
	ROW(allocs, ALLOCS, , , UPROBE, " of allocations", with) \
	ROW(usdt, USDT, , , UPROBE, " of probes", with) \
	ROW(tracepoints, TRACEPOINTS, , , TRACEPOINT, " of tracepoints", with)

/* Kinds of stacks. Each has a BPF object. */
enum runtime_part {
	RUNTIME_SAMPLES, /* ticks and events */
	RUNTIME_WAITS,
#define PROBE_PART(name, NAME, ...) RUNTIME_##NAME,
	RUNTIME_PROBES(PROBE_PART, ) /* of markers, by their probe */
#undef PROBE_PART
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
 * no such stacks are recorded. RUNTIME_SAMPLES comes first. Returns 0 or a negative errno.
 */
int runtime_program_load(struct runtime_program *program, uint32_t kind, enum runtime_part part,
			 struct programs *programs, struct error *err);

/*
 * Stores the description of a process for the programs of its runtime. Returns 0 or a negative
 * errno.
 */
int runtime_program_set_process(const struct runtime_program *program, uint32_t pid,
				const void *process, struct error *err);

/* Counts of a runtime's program that adds labels. */
struct label_counts {
	uint64_t samples; /* samples of programs that may have labels */
	uint64_t labelled; /* samples with labels */
	uint64_t unreadable; /* samples with an unreadable label, all of whose labels are dropped */
};

/* Returns zeros for a program that adds none, or that is not loaded. */
struct label_counts runtime_program_labels(const struct runtime_program *program);
