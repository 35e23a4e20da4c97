/* SPDX-License-Identifier: MIT */
/*
 * Processes, as the programs in the kernel and its perf events tell of them. Every function
 * moves the clock on by some ns, and writes into the rings of a CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/machine/rings.h"

/* A process that runs already; /proc has a folder for it. */
void task_start(uint32_t pid, const char *name);
void task_fork(uint32_t cpu, uint32_t parent_pid, uint32_t pid);
/* A new thread. */
void task_clone(uint32_t cpu, uint32_t pid, uint32_t tid);
/*
 * An exec: the address space is replaced when it begins, then the program's files are mapped, then
 * it is complete. False: the event of its begin was lost.
 */
bool task_begin_exec(uint32_t cpu, uint32_t pid);
void task_end_exec(uint32_t cpu, uint32_t pid, const char *name);
/* All of it, with a program of 64 KiB at that address. */
void task_exec(uint32_t cpu, uint32_t pid, const char *name, uint64_t start, const char *path);
/* Executable memory of a file that is not there. False: the event was lost. */
bool task_map(uint32_t cpu, uint32_t pid, uint64_t start, uint64_t size, const char *path);
/* The whole of a file that is. */
bool task_map_file(uint32_t cpu, uint32_t pid, uint64_t start, const char *path);
/* Likewise, with the name that the file has in the process's root. */
bool task_map_file_as(uint32_t cpu, uint32_t pid, uint64_t start, const char *path,
		      const char *name);
void task_rename(uint32_t cpu, uint32_t pid, uint32_t tid, const char *name);
/* tid == pid: the process's last thread, too. */
void task_exit(uint32_t cpu, uint32_t pid, uint32_t tid);

/* The fate of a tick. */
enum tick_fate {
	TICK_SENT,
	TICK_OTHER, /* the task is not recorded */
	TICK_LOST, /* no room, which the counters say */
	TICK_NO_RING, /* likewise no ring */
};

/* The thread is interrupted at `leaf`, with `count` callers below it (0: none are known). */
enum tick_fate task_tick(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf,
			 const uint64_t *callers, uint16_t count);
/* Likewise, with a copy of its stack instead of callers. */
enum tick_fate task_tick_copied(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf);
/*
 * Likewise, but the record of the sample stays unfinished. It has no callers.
 */
enum tick_fate task_tick_slowly(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf,
				struct ring_place *place);

/* Events about a CPU, or about the kernel. */
void machine_throttle(uint32_t cpu, uint64_t event_id);
void machine_unthrottle(uint32_t cpu, uint64_t event_id);
void machine_make_code(uint32_t cpu, uint64_t start, uint32_t size, const char *name);

bool task_is_tracked(uint32_t pid);
