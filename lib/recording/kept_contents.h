/* SPDX-License-Identifier: MIT */
/*
 * Embeds contents of files in a capture that may not outlive the recording: deleted files, files in
 * memory or in another root, and the vDSO.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/base/identity.h"
#include "lib/stream/capture/capture_writer.h"
#include "lib/recording/workplace/function_code.h"

struct kept_module {
	uint32_t id;
	bool is_vdso;
	/* The owner of the capture could open the file's folder when it was mapped. */
	bool may_reach;
};

/* A zeroed struct is empty. */
struct kept_contents {
	uint64_t bytes; /* bytes of all files so far */
	uint32_t left_out; /* files that were too large */
	VEC(struct kept_module) others; /* files that had a name at the last check */
	/* kept_contents_add() writes nothing, and each kept_contents_repeat() writes all files */
	bool is_deferred;
	uint64_t polled_ns; /* CLOCK_MONOTONIC time of the last poll */
};

/*
 * Writes the parts of a new module's file that must be retained. Skips files that the capture's
 * owner may not read, and other users' memory mapped like a file.
 */
void kept_contents_add(struct kept_contents *k, const struct rec_module *rec,
		       const struct file_set *files, const struct identity *owner,
		       struct capture_writer *writer);
/* Does the same for files deleted since; checks only every few seconds unless `now` is set. */
void kept_contents_poll(struct kept_contents *k, bool now, const struct file_set *files,
			const struct identity *owner, struct capture_writer *writer);

/* Call when the recorder has dropped the module. */
void kept_contents_remove(struct kept_contents *k, uint32_t module_id);
/* Writes everything to be retained of all modules so far, as if for the first time. */
void kept_contents_repeat(struct kept_contents *k, const struct file_set *files,
			  const struct identity *owner, struct capture_writer *writer);
