/* SPDX-License-Identifier: MIT */
/* The kernel's programs that follow runtimes: loads each when the first file with one is mapped. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIME_PROGRAMS_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIME_PROGRAMS_H

#include "bpf/runtime_layout.h"
#include "lib/live/bpf/programs.h"

/* A runtime's program. A zeroed array of them, by enum runtime_kind, has none loaded. */
struct runtime_program {
	uint32_t kind;
	void *skeleton; /* NULL: not loaded; `programs` closes it */
	bool has_failed; /* it could not be loaded */
};

/* Loads the program of `kind`, unless it is loaded. 0 or a negative errno. */
int runtime_program_load(struct runtime_program *program, uint32_t kind, struct programs *programs,
			 struct error *err);

/* Counts of Go's program. */
struct go_label_counts {
	uint64_t samples; /* of programs that set labels */
	uint64_t labelled; /* of those, with labels */
	uint64_t unreadable; /* of those, with some that could not be read, and none taken */
};

/* `program` is that of RUNTIME_GO. */
struct go_label_counts runtime_program_go(const struct runtime_program *program);

#endif
