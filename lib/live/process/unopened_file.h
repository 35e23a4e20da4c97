/* SPDX-License-Identifier: MIT */
/*
 * A mapped file that could not be opened yet, usually because its process had ended before. It is
 * tried again with other processes that have it mapped.
 */
#ifndef PROF_LIB_LIVE_PROCESS_UNOPENED_FILE_H
#define PROF_LIB_LIVE_PROCESS_UNOPENED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/live/perf/map_event.h"
#include "lib/stream/process/mapping.h"

struct unopened_file {
	struct map_event event; /* the first mapping; its path is owned */
	/* The mapping that was tried last. */
	uint32_t tried_pid;
	uint64_t tried_start;
	uint32_t tries; /* those with living processes */
};

/* Copies the event with its path. */
struct unopened_file *unopened_file_new(const struct map_event *event);
/* Accepts NULL. */
void unopened_file_free(struct unopened_file *u);
/* Recognises a file without a build id: the same inode, and the same path. */
uint64_t unopened_file_hash(const struct map_event *event);
bool unopened_file_equal(const struct unopened_file *u, const struct map_event *event);
/* Does this mapping promise more than those that were tried? */
bool unopened_file_is_worth_a_try(const struct unopened_file *u, uint32_t pid, uint64_t start);
void unopened_file_note_try(struct unopened_file *u, const struct map_event *event);
/* Describes another process's mapping of the file. The path is that of `u`. */
struct map_event unopened_file_mapped(const struct unopened_file *u, const struct mapping *mapping,
				      uint32_t pid, uint64_t time);
/* Has the process's program ended? A zombie has none any more. */
bool process_has_ended(uint32_t pid);

#endif
