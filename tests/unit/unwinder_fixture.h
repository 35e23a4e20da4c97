/* SPDX-License-Identifier: MIT */
/*
 * An unwinder with the processes that it follows, and what it sends to the walker and the stream;
 * every function asserts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/live/process/live_process.h"
#include "lib/live/unwind/unwinder.h"

#define CODE 0x7f0000000000ull
#define CODE_SIZE 0x10000000ull
#define SECOND 1000000000ull
#define PID 100
#define PIDS 8

struct told {
	unsigned int times;
	bool is_there;
	struct unwind_space space;
};

struct unwinder_fixture {
	struct live_processes *processes;
	struct unwinder *u;
	struct unwinder_options options;
	struct file_set *files;
	struct told told[PIDS]; /* by pid - PID */
	uint64_t now;
	uint64_t telling_takes_ns; /* duration of a description, by the fake clock */
	VEC(struct rec_stack *) sent; /* owned */
};

void start_unwinder(struct unwinder_fixture *f, uint64_t max_bytes);
void stop_unwinder(struct unwinder_fixture *f);
/* Set up and tear down a test whose state is the fixture. */
int set_up_unwinder(void **state);
int tear_down_unwinder(void **state);
#define WITH_UNWINDER(test) TEST_WITH(test, set_up_unwinder, tear_down_unwinder)

/* Returns the process with that pid, added if new. */
struct live_process *process_of(struct unwinder_fixture *f, uint32_t pid);
void exec_process(struct unwinder_fixture *f, uint32_t pid);
/* Ends the process, past all late events. */
void end_process(struct unwinder_fixture *f, uint32_t pid);
/* Makes a module with one segment of CODE_SIZE. Free it. */
struct rec_module *make_code_module(uint32_t id);
/* Adds this program as a module whose code begins at offset 0; or a module without a file. */
void add_code_module(struct unwinder_fixture *f, uint32_t id, bool has_file);
void map_code(struct unwinder_fixture *f, uint32_t pid, uint64_t at, uint32_t module);
/* Runs rounds, far enough apart that freed memory can be used again. */
void flush_unwinder(struct unwinder_fixture *f, unsigned int rounds);
/* Returns the last description of the process that the walker got. */
const struct unwind_space *told_space(const struct unwinder_fixture *f, uint32_t pid);
