/* SPDX-License-Identifier: MIT */
/*
 * Reports the name and mappings of a process at the start of recording, read from /proc, as records
 * with that time.
 */
#pragma once

#include <limits.h>

#include "lib/live/process/module_registry.h"

/* The executable lines of /proc/PID/maps, see proc(5). */

struct proc_map {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	bool executable, writable;
	const char *path; /* "" for anonymous memory; points into `text` */
};

/*
 * Parses the line at *text, terminates it in place and advances to the next. Returns false at the
 * end. Skips malformed lines.
 */
bool proc_maps_next(char **text, struct proc_map *map);
/* Returns all lines, up to 16 MB of them, to be freed; NULL if they cannot be read. */
char *proc_maps_read(uint32_t pid);

/*
 * Iterates over the executable mappings of a process. Kernels since 6.11 can report only these,
 * which avoids formatting and parsing a line for each other mapping.
 */

enum exec_maps_way {
	EXEC_MAPS_ASK, /* falls back to reading if the kernel does not support the request */
	EXEC_MAPS_READ,
};

struct exec_maps {
	enum exec_maps_way way;
	int fd; /* descriptor of /proc/PID/maps */
	uint64_t next; /* all mappings below this address have been returned */
	char name[PATH_MAX]; /* name of the returned mapping */
	char *text, *at; /* owned */
};

/*
 * Returns 0; -ENOENT or -ESRCH if the process does not exist or has ended; -EACCES if its mappings
 * must not be read. Release after success.
 */
int exec_maps_open(struct exec_maps *maps, uint32_t pid, enum exec_maps_way way);
void exec_maps_release(struct exec_maps *maps);
/*
 * Stores the next mapping, in order of address; its path is valid until the next call. Returns
 * false at the end. Leaves out the kernel's pages that every process maps (vsyscall).
 */
bool exec_maps_next(struct exec_maps *maps, struct proc_map *map);

/*
 * Caches files mapped by several processes while many processes are scanned at once: each file is
 * opened once. Device and inode do not identify a file on overlays, but do so together with the
 * path, the root and the mounts.
 */

/* The root and mounts by which a process resolves paths; all zero: unknown. */
struct scan_view {
	uint64_t root_device, root_inode, mounts;
};

struct scan_file {
	struct scan_view view;
	uint64_t inode;
	uint32_t device_major, device_minor;
	size_t path; /* position in `paths` */
	uint32_t module_id;
};

/* A zeroed struct is an empty cache. Keep it for a short time only: files may be replaced. */
struct identity_cache {
	VEC(struct scan_file) rows;
	struct index index;
	struct strbuf paths;
};

void identity_cache_release(struct identity_cache *c);

/*
 * Sends a name record of the main thread (NAME_SCAN, and `flags` with the result of the filters).
 * Returns -ESRCH if the process does not exist or has ended.
 */
int proc_walk_name(record_sink_fn *sink, void *ctx, uint32_t pid, uint8_t flags, uint64_t time,
		   struct error *err);
/*
 * Sends the executable mappings; files in the cache are not opened again. Returns -ENOENT or -ESRCH
 * if the process does not exist or has ended, -EACCES if its mappings must not be read.
 */
int proc_walk_maps(struct module_registry *modules, struct identity_cache *cache,
		   record_sink_fn *sink, void *ctx, uint32_t pid, uint64_t time, struct error *err);
