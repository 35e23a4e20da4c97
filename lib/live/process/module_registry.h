/* SPDX-License-Identifier: MIT */
/*
 * The distinct files that recorded processes map. Each becomes one module record and one open
 * descriptor, regardless of how many processes map it. A file is identified by build id, else by
 * device, inode, size and time of change; never by path, which means another file in another mount
 * namespace.
 *
 * A file that cannot be opened, usually because its process has ended, gets a record as well. It is
 * retried with the next processes that have it mapped; a second record with the same id then
 * completes the first.
 */
#pragma once

#include "bpf/record.h"
#include "lib/code/files/file_set.h"
#include "lib/live/perf/perf_event.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

struct module_registry;

struct module_registry *module_registry_new(struct file_set *files, record_sink_fn *sink,
					    void *ctx);
void module_registry_free(struct module_registry *r);
/* Keeps the roots of processes with the mounts below them from now on, see process_root.h. */
void module_registry_keep_mounts(struct module_registry *r);

/*
 * Returns the module behind a mapping event. Adds it and sends its record if it is new.
 * NO_REC_MODULE for anonymous memory.
 */
uint32_t module_registry_resolve(struct module_registry *r, const struct map_event *event);

/* Return whether any file, or this one, is not open yet. */
bool module_registry_has_unopened(const struct module_registry *r);
bool module_registry_is_unopened(const struct module_registry *r, uint32_t id);
/* If the mapped file is not open yet, retries it with a process that has inherited the mapping. */
void module_registry_inherit(struct module_registry *r, const struct mapping *mapping, uint32_t pid,
			     uint64_t time);

/*
 * Drops files that were not mapped since that time and are unused according to `is_used`: sends a
 * REC_GONE for each, closes it, and calls `forget`.
 */
struct module_users {
	bool (*is_used)(void *ctx, uint32_t module_id, uint64_t since_ns);
	void (*forget)(void *ctx, uint32_t module_id);
	void *ctx;
};
void module_registry_forget(struct module_registry *r, uint64_t since_ns, uint64_t now_ns,
			    const struct module_users *users);

/* A module without a file: kernel image, loaded kernel module. Takes over fd (-1: none). */
struct special_module {
	enum module_kind kind;
	const char *path;
	uint64_t base;
	uint8_t build_id[REC_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint64_t contents; /* for a module without a build id: binary_contents_hash() */
	int fd;
	uint8_t flags; /* flags for the REC_MODULE */
};
uint32_t module_registry_add_special(struct module_registry *r, uint64_t time,
				     const struct special_module *special);
