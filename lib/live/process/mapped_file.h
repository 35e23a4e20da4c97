/* SPDX-License-Identifier: MIT */
/*
 * Opening the file behind a mapping of another process, which may be hostile, in another mount
 * namespace, or gone: never a device or a FIFO, never through a link out of the process's root, and
 * never another file than the mapped one.
 */
#ifndef PROF_LIB_LIVE_PROCESS_MAPPED_FILE_H
#define PROF_LIB_LIVE_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/binary/binary.h"

/* What is known of the file beforehand, to recognise it. */
struct mapped_file {
	uint32_t pid;
	uint64_t start, end; /* the mapping */
	const char *path; /* as the process sees it */
	const uint8_t *build_id; /* NULL where build_id_size is 0 */
	uint8_t build_id_size;
	/* Only asked where there is no build id; inode 0: unknown. */
	uint64_t inode;
	dev_t device; /* that of the file system below, which is not stat's on an overlay */
};

/* Identity of a file without a build id. */
struct file_identity {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t modified_ns;
};

/*
 * Opens it for reading: by /proc/PID/map_files, else by its path in the process's root, else by its
 * path in our own root. Fills in identity and summary (also of files that are no ELF: then with 0
 * segments). A descriptor or a negative errno; on success the summary is the caller's to release.
 */
int mapped_file_open(const struct mapped_file *file, struct file_identity *identity,
		     struct binary_summary *summary);
/*
 * Is the file, opened, still to be found by its path, in the process's root or in ours? The kernel
 * adds " (deleted)" to that of an unlinked file, and a file may be called so.
 */
bool mapped_file_has_path(const struct mapped_file *file, const struct file_identity *identity);

#endif
