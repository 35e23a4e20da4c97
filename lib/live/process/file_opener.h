/* SPDX-License-Identifier: MIT */
/*
 * Opens mapped files, and gives up those whose file system does not answer: the recording goes on
 * without them.
 */
#ifndef PROF_LIB_LIVE_PROCESS_FILE_OPENER_H
#define PROF_LIB_LIVE_PROCESS_FILE_OPENER_H

#include "lib/base/vec.h"
#include "lib/live/process/mapped_file.h"

/* Zeroed is empty. */
struct file_opener {
	VEC(dev_t) silent; /* devices that did not answer */
	unsigned int abandoned; /* files on devices that are not known */
};

struct opened_file {
	int fd;
	struct file_identity identity;
	struct binary_summary summary; /* to be released */
	bool has_path; /* see mapped_file_has_path(); asked if the path ends with PATH_DELETED */
};

void file_opener_release(struct file_opener *o);
/* As mapped_file_open(); -ETIMEDOUT if the file system does not answer. */
int file_opener_open(struct file_opener *o, const struct mapped_file *file,
		     struct opened_file *opened);

#endif
