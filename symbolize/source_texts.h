/* SPDX-License-Identifier: MIT */
/* Embeds source files in the profile, so that it can be read without them. */
#pragma once

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/base/workers.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/profile.h"

/* Outcome of reading a source file named in a profile. */

enum source_outcome {
	SOURCE_TAKEN,
	SOURCE_MISSING, /* not on this machine, or not a regular file */
	SOURCE_FORBIDDEN, /* the invoking user may not read it */
	SOURCE_NOT_THEIRS, /* a recorded user who ran code of the file may not read it */
	SOURCE_NO_CODE, /* name or contents do not look like source code */
	SOURCE_TOO_LARGE, /* larger than the limit for a file */
	SOURCE_NO_ROOM, /* all files together would be larger than their limit */
	SOURCE_SILENT, /* the file system did not respond */
	SOURCE_OUTCOME_COUNT,
};

/* True for the name of a source file. */
bool source_texts_is_code(const char *path);

struct source_text {
	char *text; /* owned by the caller that takes it */
	size_t size;
	int64_t modified_ns;
};

/*
 * Reads a source file named in a profile, which is untrusted. Accepts only a regular file with the
 * name of a source file, at most `max` bytes and no NUL, outside of /proc, /sys and /dev, that this
 * thread and all readers may open. Follows only links owned by root, this thread's user or the
 * readers.
 */
enum source_outcome source_text_read(const struct readers *readers, const char *path, uint64_t max,
				     struct source_text *source);
/* Returns a phrase for the outcome, such as "not here". */
const char *source_outcome_text(enum source_outcome outcome);

#define SOURCES_FILE_BYTES ((uint64_t)2 << 20)
#define SOURCES_TOTAL_BYTES ((uint64_t)32 << 20)

struct sources_options {
	/* Files of modules by module.file_key, and their roots; NULL: none. */
	struct file_set *files;
	struct identity owner; /* user whose permissions apply to reading files */
	/*
	 * Possible users of functions whose users are unknown; NULL: none. Users of modules are
	 * checked in any case.
	 */
	const struct readers *unknown_readers;
	uint64_t file_bytes, total_bytes; /* limits for a file, and for all files */
	uint64_t stall_ns; /* time after which unresponsive files are abandoned; 0: never */
	/* As in struct naming, counting files; may be NULL. */
	enum workers_wish (*progress)(void *ctx, size_t done, size_t count);
	void *ctx;
};

struct sources_stats {
	uint32_t files[SOURCE_OUTCOME_COUNT];
	uint32_t newer; /* files taken that changed after a binary was built from them */
	uint64_t bytes; /* size of the files taken */
};

/*
 * Reads the source files of the profile's functions, those with the most frames first: in the root
 * of the functions' process, which no link may leave, or else in this process's root. Debug
 * information is untrusted and may name any file. Accepts only regular files with the name of a
 * source file and without NUL bytes, readable by the owner and all users of the modules that name
 * the file, see open_file.h. Outside of the process's own root a file must be readable by
 * everybody.
 */
void sources_collect(struct profile *p, const struct sources_options *options,
		     struct sources_stats *stats);
/* Appends "12 files (340 kB); left out: 3 not here, 1 too large". */
void sources_describe(const struct sources_stats *stats, struct strbuf *out);
/* Adds this information as lines of "Show more". */
void sources_add_extra(struct profile *p, const struct sources_stats *stats);
