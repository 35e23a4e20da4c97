/* SPDX-License-Identifier: MIT */
/* Finds the separate files with the symbols and debug information stripped from a module. */
#pragma once

#include "lib/base/identity.h"
#include "lib/model/tables/modules.h"

struct debug_fetcher;
struct debug_link;
struct readers;

/*
 * Settings for all modules. A zeroed struct means only /usr/lib/debug, with the process's own
 * permissions.
 */
struct debug_search {
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated; may be NULL */
	const char *cache; /* cache of the debuginfod client, with files ID/debuginfo; NULL: none */
	/* Files are opened with this user's permissions; NULL: the current user. */
	const struct identity *owner;
	struct debug_fetcher *fetcher; /* NULL: no downloads */
	const char *kernel_release; /* release of the recorded kernel; NULL: the running kernel */
	const char *unpacked; /* folder of debug_sections.h; NULL: nothing is cached */
};

/* The folder of distributions' debug files. */
#define DEBUG_SYSTEM_DIR "/usr/lib/debug"

/* The file to find. Borrowed. */
struct debug_wanted {
	const uint8_t *build_id; /* NULL if build_id_size is 0 */
	size_t build_id_size;
	const char *path; /* path of the stripped file, as its process saw it; NULL: unknown */
	const struct debug_link *link; /* debug link of the stripped file; NULL: none */
	const char *const *alt_paths; /* other paths to try, NULL-terminated; may be NULL */
	int root; /* open root folder of the process, if it differs from prof's own; otherwise 0 */
	/* Users who must be able to read the file as well; NULL: none. */
	const struct readers *readers;
	bool needs_lines; /* a file with only symbols does not suffice */
	bool is_shared_part; /* a file with only strings suffices */
	bool is_never_fetched; /* the file is too large to download */
	bool may_be_packed; /* the whole file may be compressed by xz, zstd or gzip, as kernel
			       modules are */
};

struct debug_file {
	int fd; /* -1: not found */
	char *path; /* path at which the file was found */
	int root; /* root folder of `path`: the wanted root, or 0 */
};

/*
 * Searches in the root of the process, then in prof's own: by build id in --debug-dir,
 * /usr/lib/debug and the cache; by the link in the folder of the file, in .debug below that and in
 * /usr/lib/debug/FOLDER; at alt_paths; finally by download. The link's checksum decides if build
 * ids cannot be compared. Accepts only regular files that all readers can read; readers do not
 * matter in --debug-dir, the cache and downloads. Otherwise returns -ENOENT with a reason: why the
 * first existing file was rejected, or that there is none.
 */
int debug_file_find(struct debug_file *f, const struct debug_wanted *wanted,
		    const struct debug_search *search, enum symbol_reason *reason);
/*
 * Opens a regular file with the permissions of the search's owner and of all readers, in the root
 * of a process, or in prof's own if `root` is 0. Returns a new descriptor, READERS_REFUSED or a
 * different negative errno.
 */
int debug_file_open(const struct debug_search *search, const struct readers *readers, int root,
		    const char *path);
/* Accepts a file that was never found or is already closed. */
void debug_file_close(struct debug_file *f);
