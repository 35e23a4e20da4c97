/* SPDX-License-Identifier: MIT */
/*
 * The folder in which results are kept for later runs: ~/.cache/prof of the effective user. What
 * another user could have written is never read.
 */
#pragma once

#include "lib/base/base.h"

/* Maximum total size of the folder. */
#define CACHE_FOLDER_BYTES ((uint64_t)256 << 20)

/* Returns the folder, which need not exist, to be freed; NULL: none. Root uses no other's folder.
 */
char *cache_folder_path(void);
/*
 * Opens the folder; with `make`, creates it and its parent if they are missing. Returns a
 * descriptor, or -1 also if other users can change it.
 */
int cache_folder_open(const char *path, bool make);
/* Returns true for a regular file that no other user can have written. */
bool cache_file_is_own(const struct stat *st);
/*
 * Counts a new file of this size. After a quarter of `bytes_max`, removes the least recently used
 * files until the rest fits into it.
 */
void cache_folder_added(int folder, uint64_t bytes, uint64_t bytes_max);
