/* SPDX-License-Identifier: MIT */
/* Names the frames of a profile, with all sources of debug files, and shows progress. */
#ifndef PROF_CMD_RUN_SYMBOLIZE_RUN_H
#define PROF_CMD_RUN_SYMBOLIZE_RUN_H

#include "cmd/options/output_options.h"
#include "lib/base/file_set.h"
#include "lib/base/identity.h"
#include "lib/profile/profile.h"
#include "symbolize/debuginfo/debug_fetch.h"
#include "symbolize/kernel/kernel_table.h"

struct symbolize_run_options {
	const struct output_options *output;
	struct file_set *files; /* by module.file_key */
	const struct kernel_table *kernel_symbols; /* NULL: read the kernel's list */
	const struct identity *owner; /* the invoking user; NULL: the whole process is that user */
	const char *kernel_release; /* release of the recorded kernel; NULL: the running one's */
	int fetcher; /* socket to a downloading process, taken over; -1: one is started */
	pid_t front; /* process that owns the terminal; 0: this process */
	/* Polled; true ends the search and keeps the names found so far. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

/* True if the environment names servers for debug files. */
bool symbolize_run_downloads(void);
/* Program and arguments of the process that downloads, NULL-terminated. */
extern const char *const symbolize_run_fetch_command[];

/*
 * Gets one file from the servers that the environment names, as that user; NULL: the current one.
 * Returns a descriptor; -1: there are no servers, or none has it.
 */
int symbolize_run_fetch(const struct debug_request *request, const struct identity *owner);

void symbolize_run(struct profile *p, const struct symbolize_run_options *options);

#endif
