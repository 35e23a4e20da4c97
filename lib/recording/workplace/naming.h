/* SPDX-License-Identifier: MIT */
/* Names the frames of a profile from all sources of debug files. */
#pragma once

#include "lib/code/files/file_set.h"
#include "lib/base/identity.h"
#include "lib/base/workers.h"
#include "lib/model/tables/profile.h"
#include "symbolize/debuginfo/debug_fetch.h"
#include "symbolize/kernel/kernel_table.h"
#include "symbolize/name_cache.h"

struct naming {
	struct file_set *files; /* open files by module.file_key */
	const char *const *dirs; /* folders with debug files, NULL-terminated; NULL: none */
	/* Kernel symbols; NULL: read the list of the running kernel. */
	const struct kernel_table *kernel_symbols;
	const struct identity *owner; /* invoking user; NULL: same as the process */
	struct name_cache *cache; /* cache of names across profiles; NULL: none */
	/* Keep unpacked debug files of distributions in the user's cache folder. */
	bool keeps_unpacked;
	const char *kernel_release; /* release of the recorded kernel; NULL: the running kernel */
	int fetcher; /* socket to a downloading process, taken over; -1: start one */
	/*
	 * Time limit for files and servers without progress. 0: no limit for files, and a minute
	 * for all downloads together.
	 */
	uint64_t stall_ns;
	/*
	 * Progress callbacks, called by one thread at a time; may be NULL. A return value other
	 * than WORKERS_GO_ON, or true, ends the search and keeps the names found so far. Sizes are
	 * in bytes; 0: unknown.
	 */
	enum workers_wish (*on_names)(void *ctx, size_t done, size_t count);
	bool (*on_download)(void *ctx, const char *path, uint64_t done, uint64_t size);
	void *ctx;
};

/* stall_ns for commands that have no option for it. */
#define NAMING_STALL_NS 10000000000ull

/* Internal argument: a program that names frames re-executes itself with it to download. */
#define NAMING_FETCH "--fetch-debug-files"
/* Program and arguments of the process that downloads, NULL-terminated. */
extern const char *const naming_fetch_command[];

/* True if the environment names servers for debug files. */
bool naming_downloads(void);
/*
 * Downloads one file from the servers named in the environment, as that user; NULL: the current
 * one. Returns a descriptor; -1 if there are no servers or none has the file.
 */
int naming_fetch(const struct debug_request *request, const struct identity *owner);

/* Names the frames. `naming` may be freed afterwards unless threads_are_left(). */
void naming_run(struct profile *p, const struct naming *naming);
