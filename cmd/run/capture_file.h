/* SPDX-License-Identifier: MIT */
/* A capture file as a profile: replayed, completed and named as the recording itself would be. */
#ifndef PROF_CMD_RUN_CAPTURE_FILE_H
#define PROF_CMD_RUN_CAPTURE_FILE_H

#include "cmd/options/output_options.h"
#include "cmd/run/complete.h"
#include "cmd/run/kept_contents.h"
#include "cmd/run/recording_facts.h"
#include "lib/capture/capture_reader.h"

struct capture_file {
	struct profile *profile; /* owned */
	struct recording_facts facts;
	struct capture_counts counts;
	struct read_contents contents;
	struct completed completed;
};

/*
 * Reads all of fd, a regular file; `label` is its name in messages. Looks for the recorded files by
 * their paths and in the folders of --debug-dir. A capture that was cut gives what it has, and a
 * warning. -EBADMSG if it cannot be read, -ENODATA if there is nothing in it.
 */
int capture_file_load(struct capture_file **out, int fd, const char *label,
		      const struct output_options *output, struct error *err);
/* The profile that was written of it. */
struct capture_output {
	struct export_counts counts; /* as the format has set them */
	uint64_t bytes;
	uint64_t finish_ns; /* time that all took */
};
/* Writes what --stats tells; the caller commits. Times of the recorder are those of this process.
 */
void capture_file_write_stats(struct capture_file *f, const struct capture_output *written,
			      const struct output_options *output, struct outfile *out);
/* NULL is fine. */
void capture_file_free(struct capture_file *f);
/* True if an open file begins as a capture does. */
bool capture_file_is_one(int fd);

#endif
