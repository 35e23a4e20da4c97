/* SPDX-License-Identifier: MIT */
/*
 * Separate files with the symbols and debug information that were stripped from a module, and where
 * they are looked for.
 */
#ifndef PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FILE_H
#define PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/profile/modules.h"

struct debug_fetcher;
struct debug_link;
struct readers;

/* What holds for all modules. Zeroed: /usr/lib/debug alone, with our own permissions. */
struct debug_search {
	const char *const *dirs; /* from --debug-dir, NULL-terminated, or NULL */
	const char *cache; /* of debuginfod's client, which holds ID/debuginfo; NULL: none */
	const struct identity *owner; /* whose permissions apply; NULL: our own */
	struct debug_fetcher *fetcher; /* NULL: nothing is downloaded */
	const char *kernel_release; /* of the kernel that was recorded; NULL: the running one's */
};

/* Where distributions put debug files. */
#define DEBUG_SYSTEM_DIR "/usr/lib/debug"

/* One file that is looked for. Borrowed. */
struct debug_wanted {
	const uint8_t *build_id; /* NULL where build_id_size is 0 */
	size_t build_id_size;
	const char *path; /* of the file that it belongs to, as its process saw it; NULL: unknown */
	const struct debug_link *link; /* of that file; NULL: it has none */
	const char *const *alt_paths; /* others where it may be, NULL-terminated, or NULL */
	int root; /* that process's root, an open folder, where it is another than ours; else 0 */
	const struct readers *readers; /* who has to be able to read it, too; NULL: nobody */
	bool needs_lines; /* symbols alone are of no use */
	bool is_shared_part; /* strings that others refer to are enough */
	bool is_never_fetched; /* it is too large to be downloaded */
	bool may_be_packed; /* with xz, zstd or gzip as a whole, as kernel modules are */
};

struct debug_file {
	int fd; /* -1: none */
	char *path; /* as it was found */
	int root; /* in which path starts: what was wanted, or 0 */
};

/*
 * First in the process's root, then in ours: by build id in --debug-dir, in /usr/lib/debug and in
 * the cache; by the link, whose checksum counts where build ids cannot be compared, in the folder
 * of the file, in .debug below that, and in /usr/lib/debug/FOLDER; at alt_paths; then what can be
 * downloaded. Regular files only; but for --debug-dir, the cache and downloads, only those that all
 * readers can read. Otherwise -ENOENT, and the reason: that of the first file that
 * was there and was refused, else that there is none.
 */
int debug_file_find(struct debug_file *f, const struct debug_wanted *wanted,
		    const struct debug_search *search, enum symbol_reason *reason);
/*
 * Opens a regular file as the search's owner and all readers may: in a process's root, or in ours
 * where that is 0. A new descriptor, READERS_REFUSED or another negative errno.
 */
int debug_file_open(const struct debug_search *search, const struct readers *readers, int root,
		    const char *path);
/* One that was never found, or closed before, is fine. */
void debug_file_close(struct debug_file *f);

#endif
