/* SPDX-License-Identifier: MIT */
/* Runtimes that only a process tells how to follow. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_START_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_START_H

#include "lib/base/error.h"
#include "lib/live/instruments/runtimes/late_reader.h"
#include "lib/live/instruments/runtimes/runtime_programs.h"
#include "lib/live/unwind/runtime_files.h"
#include "lib/code/runtimes/runtime.h"

/*
 * Reads what the process tells, completes the layout of its file and hands the rest to the loaded
 * program. Returns as hooks.start does.
 */
int runtime_start(const struct runtime_program *program, struct late_reader *reader,
		  const struct starting_process *process, struct runtime_layout *layout,
		  struct error *err);

#endif
