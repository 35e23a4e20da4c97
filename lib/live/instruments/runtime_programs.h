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

#endif
