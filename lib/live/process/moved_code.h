/* SPDX-License-Identifier: MIT */
/*
 * Finds code of files that processes have copied to anonymous memory at the same addresses: to huge
 * pages, as with node --use-largepages. It counts as the file's while the bytes agree. Examines
 * anonymous executable memory that replaces a mapped file's, or continues it.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/live/process/live_process.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

/* Memory that may contain a copy of a file's code. */
struct moved_piece {
	const struct live_process *process;
	struct mapping mapping; /* as it would be if the file were mapped */
	uint64_t until_ns; /* time to give up */
};

struct moved_code {
	const struct file_set *files; /* borrowed */
	record_sink_fn *sink; /* receives a REC_MAP for each piece that contains its file's code */
	void *ctx;
	VEC(struct moved_piece) pieces;
};

/* Registers a listener with `processes`, which must be freed before moved_code_release(). */
void moved_code_init(struct moved_code *m, struct live_processes *processes,
		     const struct file_set *files, record_sink_fn *sink, void *ctx);
/* Notes new executable memory; `before` contains the process's previous mappings, NULL: none. */
void moved_code_map(struct moved_code *m, const struct live_process *process,
		    const struct mapping_table *before, const struct rec_map *map);
/* Examines pieces of this process, or of all if it is NULL, at that time. */
void moved_code_poll(struct moved_code *m, const struct live_process *process, uint64_t time);
