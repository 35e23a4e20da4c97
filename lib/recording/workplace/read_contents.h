/* SPDX-License-Identifier: MIT */
/* Files embedded in a capture, because they may not outlive the recording. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

/* Limits for bytes of one embedded file, and of all. */
#define KEPT_FILE_MAX ((uint64_t)64 << 20)
#define KEPT_ALL_MAX ((uint64_t)256 << 20)

/* The files of a capture, in memory. A zeroed struct is empty. */
struct read_contents {
	VEC(struct {
		uint32_t module_id;
		int fd;
		uint64_t bytes; /* bytes of memory, in whole pages */
		uint64_t used; /* number of the call that last used the file */
	})
	rows;
	uint64_t bytes; /* bytes of all files */
	uint64_t calls;
};

void read_contents_release(struct read_contents *c);
/* Takes a valid record of an untrusted file. */
void read_contents_take(struct read_contents *c, const struct rec_file *rec);
/* Returns a borrowed descriptor; -1 if there is none. */
int read_contents_find(struct read_contents *c, uint32_t module_id);
/* Drops the least recently used files until the others have at most `bytes`. */
void read_contents_trim(struct read_contents *c, uint64_t bytes);
