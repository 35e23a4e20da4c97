/* SPDX-License-Identifier: MIT */
/*
 * A file that is polled some times a second, in a thread of its own: its file system may not
 * answer, which must hold up neither the recording nor its end.
 */
#ifndef PROF_CMD_RUN_WATCHED_FILE_H
#define PROF_CMD_RUN_WATCHED_FILE_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"

struct watched_file;

/*
 * Begins to watch, with the rights of `owner`, which stays. Changes from now on count, unless the
 * file system does not answer within a second: then those after its first answer. NULL: no thread
 * could be started. The caller frees.
 */
struct watched_file *watched_file_new(const char *path, const struct identity *owner,
				      struct error *err);
/* NULL is allowed. */
void watched_file_free(struct watched_file *w);
/* True once after the file has appeared or was written. */
bool watched_file_take_change(struct watched_file *w);

#endif
