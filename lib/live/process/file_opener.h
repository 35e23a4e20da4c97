/* SPDX-License-Identifier: MIT */
/*
 * Opens mapped files, abandoning those whose file system does not respond: recording continues
 * without them.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/code/binary/binary.h"

/*
 * Opens the file behind a mapping of another process. The process may be hostile, in another mount
 * namespace, or gone: never opens a device or a FIFO, follows no link out of the process's root,
 * and returns only the mapped file.
 */

/* Known properties by which the file is recognized. */
struct mapped_file {
	uint32_t pid;
	uint64_t start, end; /* range of the mapping */
	const char *path; /* path as the process sees it */
	const uint8_t *build_id; /* NULL if build_id_size is 0 */
	uint8_t build_id_size;
	/* Compared only without a build id; inode 0: unknown. */
	uint64_t inode;
	dev_t device; /* device of the underlying file system; on an overlay, stat reports a
			 different one */
};

/* Identity of a file without a build id. */
struct file_identity {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t modified_ns;
};

/*
 * Finds the file through /proc/PID/map_files, and its device, without accessing its file system,
 * which may hang. Returns an O_PATH descriptor, or -1 with device 0 if the link cannot be opened or
 * the process has ended.
 */
int mapped_file_find(const struct mapped_file *file, dev_t *device);
/*
 * Opens the file for reading: the one found, or else by its path in the process's root, or else in
 * the recorder's root. Takes over `found`, which may be -1. Fills in identity and summary (0
 * segments if the file is not ELF). Returns a descriptor or a negative errno; on success, the
 * caller releases the summary.
 */
int mapped_file_open(const struct mapped_file *file, int found, struct file_identity *identity,
		     struct binary_summary *summary);

/* Kind of a device, as found at a time: its files may come from a server in user space. */
struct device_kind {
	dev_t device;
	bool is_fuse;
	uint64_t time;
};

/* A zeroed struct is empty. */
struct file_opener {
	VEC(dev_t) silent; /* devices that did not respond */
	unsigned int abandoned; /* number of files on unknown devices */
	VEC(struct device_kind) devices; /* without a block device */
	VEC(pid_t) children; /* processes that have copied a file, and may still close it */
};

struct opened_file {
	int fd;
	struct file_identity identity;
	struct binary_summary summary; /* the caller releases it */
	bool has_path; /* result of mapped_file_has_path(), for paths that end with PATH_DELETED */
};

void file_opener_release(struct file_opener *o);
/* Like mapped_file_open(), but returns -ETIMEDOUT if the file system does not respond. */
int file_opener_open(struct file_opener *o, const struct mapped_file *file,
		     struct opened_file *opened);
