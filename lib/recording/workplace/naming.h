/* SPDX-License-Identifier: MIT */
/* Names the frames of a profile, with all sources of debug files. */
#ifndef PROF_LIB_RECORDING_WORKPLACE_NAMING_H
#define PROF_LIB_RECORDING_WORKPLACE_NAMING_H

#include "lib/code/files/file_set.h"
#include "lib/base/identity.h"
#include "lib/base/workers.h"
#include "lib/model/tables/profile.h"
#include "symbolize/debuginfo/debug_fetch.h"
#include "symbolize/kernel/kernel_table.h"
#include "symbolize/name_cache.h"

struct naming {
	struct file_set *files; /* by module.file_key */
	const char *const *dirs; /* folders with debug files, NULL-terminated; NULL: none */
	const struct kernel_table *kernel_symbols; /* NULL: read the kernel's list */
	const struct identity *owner; /* the invoking user; NULL: the whole process is that user */
	struct name_cache *cache; /* of names from profile to profile; NULL: none */
	/* Keep what is unpacked of distributions' debug files in the user's cache folder. */
	bool keeps_unpacked;
	const char *kernel_release; /* release of the recorded kernel; NULL: the running one's */
	int fetcher; /* socket to a downloading process, taken over; -1: one is started */
	/*
	 * Gives up files and servers that make no progress for so long; 0: waits for files as long
	 * as it takes, and a minute for all downloads together.
	 */
	uint64_t stall_ns;
	/*
	 * Report how far it is; both NULL: nobody asks. Any wish but to go on, and true, end the
	 * search and keep the names found so far. Called by one thread at a time. Sizes are in
	 * bytes; 0: unknown.
	 */
	enum workers_wish (*on_names)(void *ctx, size_t done, size_t count);
	bool (*on_download)(void *ctx, const char *path, uint64_t done, uint64_t size);
	void *ctx;
};

/* Patience of commands without an option for it. */
#define NAMING_STALL_NS 10000000000ull

/* Argument with which a program that names frames starts itself to download; not for users. */
#define NAMING_FETCH "--fetch-debug-files"
/* Program and arguments of the process that downloads, NULL-terminated. */
extern const char *const naming_fetch_command[];

/* True if the environment names servers for debug files. */
bool naming_downloads(void);
/*
 * Gets one file from the servers that the environment names, as that user; NULL: the current one.
 * Returns a descriptor; -1: there are no servers, or none has it.
 */
int naming_fetch(const struct debug_request *request, const struct identity *owner);

/* Afterwards, unless threads_are_left(), nothing of `naming` is used any more. */
void naming_run(struct profile *p, const struct naming *naming);

#endif
