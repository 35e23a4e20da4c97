/* SPDX-License-Identifier: MIT */
/* One line on the terminal that says how far the finishing is, and goes away afterwards. */
#ifndef PROF_CMD_PROGRESS_H
#define PROF_CMD_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool enabled; /* stderr is a terminal that can erase a line */
	bool shown;
	uint64_t next_ns;
};

void progress_init(struct progress *progress, bool quiet);
void progress_naming(struct progress *progress, size_t done, size_t count);
/* Bytes; size 0: unknown. */
void progress_download(struct progress *progress, const char *path, uint64_t done, uint64_t size);
void progress_erase(struct progress *progress);

#endif
