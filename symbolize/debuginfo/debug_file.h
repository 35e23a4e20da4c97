/* SPDX-License-Identifier: MIT */
/*
 * Finds the separate files with the symbols and debug information that were stripped from a module.
 */
#ifndef PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FILE_H
#define PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/model/tables/modules.h"

struct debug_fetcher;
struct debug_link;
struct readers;

/* Settings for all modules. Zeroed: only /usr/lib/debug, with our own permissions. */
struct debug_search {
	const char *const *dirs; /* from --debug-dir, NULL-terminated, or NULL */
	const char *cache; /* debuginfod client's, with ID/debuginfo in it; NULL: none */
	const struct identity *owner; /* opens files with this user's permissions; NULL: ours */
	struct debug_fetcher *fetcher; /* NULL: nothing is downloaded */
	const char *kernel_release; /* of the recorded kernel; NULL: the running one's */
	const char *unpacked; /* the folder of debug_sections.h; NULL: nothing is kept */
};

/* The folder of distributions' debug files. */
#define DEBUG_SYSTEM_DIR "/usr/lib/debug"

/* One wanted file. Borrowed. */
struct debug_wanted {
	const uint8_t *build_id; /* NULL where build_id_size is 0 */
	size_t build_id_size;
	const char *path; /* of the file that it belongs to, as its process saw it; NULL: unknown */
	const struct debug_link *link; /* of that file; NULL: it has none */
	const char *const *alt_paths; /* other places, NULL-terminated, or NULL */
	int root; /* root of that process, an open folder, if it differs from ours; else 0 */
	const struct readers *readers; /* users who must be able to read it, too; NULL: none */
	bool needs_lines; /* symbols alone are not enough */
	bool is_shared_part; /* strings alone are enough */
	bool is_never_fetched; /* too large for a download */
	bool may_be_packed; /* with xz, zstd or gzip as a whole, as kernel modules are */
};

struct debug_file {
	int fd; /* -1: none */
	char *path; /* as it was found */
	int root; /* in which path starts: the wanted one, or 0 */
};

/*
 * Searches in the process's root, then in ours: by build id in --debug-dir, /usr/lib/debug and the
 * cache; by the link in the folder of the file, in .debug below that and in /usr/lib/debug/FOLDER;
 * at alt_paths; at last by download. The link's checksum decides if build ids cannot be compared.
 * Takes only regular files that all readers can read; readers do not matter in --debug-dir, the
 * cache and downloads. Otherwise -ENOENT and a reason: why the first existing file was refused,
 * else that there is none.
 */
int debug_file_find(struct debug_file *f, const struct debug_wanted *wanted,
		    const struct debug_search *search, enum symbol_reason *reason);
/*
 * Opens a regular file with the permissions of the search's owner and of all readers, in a
 * process's root, or in ours if that is 0. Returns a new descriptor, READERS_REFUSED or another
 * negative errno.
 */
int debug_file_open(const struct debug_search *search, const struct readers *readers, int root,
		    const char *path);
/* A file never found, or closed before, is fine. */
void debug_file_close(struct debug_file *f);

#endif
