/* SPDX-License-Identifier: MIT */
/* Reads a source file that a profile names. */
#ifndef PROF_SYMBOLIZE_SOURCE_TEXT_H
#define PROF_SYMBOLIZE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/readers.h"

enum source_outcome {
	SOURCE_TAKEN,
	SOURCE_MISSING, /* not on this machine, or not a regular file */
	SOURCE_FORBIDDEN, /* the invoking user may not read it */
	SOURCE_NOT_THEIRS, /* a recorded user who ran code of it may not read it */
	SOURCE_NO_CODE, /* its name or bytes are not those of source code */
	SOURCE_TOO_LARGE, /* too large for a single file */
	SOURCE_NO_ROOM, /* all together would be too large */
	SOURCE_SILENT, /* its file system did not answer */
	SOURCE_OUTCOME_COUNT,
};

/* True for a name that files of source code have. */
bool source_texts_is_code(const char *path);

struct source_text {
	char *text; /* owned by the caller once it is taken */
	size_t size;
	int64_t modified_ns;
};

/*
 * Reads a source file that a profile names, which anybody may have written. Takes only a regular
 * file with a name of source code, at most `max` bytes and no NUL, not of /proc, /sys or /dev, that
 * this thread and all readers may open. Follows links of root, this thread's user and the readers.
 */
enum source_outcome source_text_read(const struct readers *readers, const char *path, uint64_t max,
				     struct source_text *source);
/*
 * The same in the folder `root`, out of which no link leads; links elsewhere were followed before.
 */
enum source_outcome source_text_read_at(const struct readers *readers, int root, const char *path,
					uint64_t max, struct source_text *source);
/* Returns what the outcome says of a file: "not here". */
const char *source_outcome_text(enum source_outcome outcome);

#endif
