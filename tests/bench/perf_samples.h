/* SPDX-License-Identifier: MIT */
/*
 * Samples of a program and its descendants, with registers and a copy of the stack. Uses perf
 * events directly, independent of the rest of the project.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/code/unwind/user_walk.h"

enum perf_item_kind {
	PERF_ITEM_SAMPLE,
	PERF_ITEM_MAP, /* executable memory */
	PERF_ITEM_FORK, /* a process, not a thread */
	PERF_ITEM_EXEC, /* the address space is replaced */
	PERF_ITEM_EXIT, /* a process's leader */
	PERF_ITEM_LOST,
};

struct perf_item {
	enum perf_item_kind kind;
	uint32_t pid, tid, parent_pid;
	/* PERF_ITEM_SAMPLE: the stack begins at regs.sp. */
	struct walk_regs regs;
	const uint8_t *stack;
	size_t stack_size;
	bool is_full; /* the stack may continue behind the copy */
	/* PERF_ITEM_MAP */
	uint64_t start, size, file_offset;
	const char *path;
	uint64_t lost; /* samples and other records */
};

struct perf_samples;

/* Starts the command. Samples it from its exec on, this often per second of CPU time. */
int perf_samples_start(struct perf_samples **out, char *const argv[], uint32_t hz,
		       struct error *err);
pid_t perf_samples_pid(const struct perf_samples *s);
/* Waits a moment, then passes on new items in order of time. They are valid during the call. */
void perf_samples_drain(struct perf_samples *s, void (*fn)(void *ctx, const struct perf_item *item),
			void *ctx);
/* Neither waits for the program nor stops it. */
void perf_samples_free(struct perf_samples *s);
