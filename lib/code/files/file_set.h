/* SPDX-License-Identifier: MIT */
/*
 * Open descriptors by module number, kept so that a file can be read after its name or its process
 * is gone. Raises the soft limit of descriptors to the hard one. At the limit, the process with the
 * most files of its own loses its oldest one; shared files come last, least recently used first.
 * Closed files are counted.
 */
#pragma once

#include "lib/base/base.h"

struct file_set;

/*
 * Raises the process's soft limit RLIMIT_NOFILE as far as possible; children started later inherit
 * it. Returns the limit; 0: unknown.
 */
uint64_t file_limit_raise(void);
/* Raises that limit; leaves `reserve` descriptors for other uses. */
struct file_set *file_set_new(unsigned int reserve);
/* Closes all descriptors. Accepts NULL. */
void file_set_free(struct file_set *files);
/*
 * Takes ownership of the descriptor, which is assigned to no process. Closes an earlier one with
 * that id.
 */
void file_set_add(struct file_set *files, uint32_t id, int fd);
/* The same for a file mapped by this process. */
void file_set_add_for(struct file_set *files, uint32_t id, uint32_t pid, int fd);
/* Notes that a process maps the file (again). A file mapped by two processes is shared. */
void file_set_use(struct file_set *files, uint32_t id, uint32_t pid);
/*
 * Declares that from now on only these files are needed, in ascending order. If some had to be
 * closed, closes others and reopens them by path and identity.
 */
void file_set_need(struct file_set *files, const uint32_t *ids, size_t count);
/* Returns a borrowed descriptor; -1: never added, or closed for lack of room. */
int file_set_find(const struct file_set *files, uint32_t id);
/* Closes the file, if there is one. */
void file_set_remove(struct file_set *files, uint32_t id);
/*
 * Keeps the root folder of a process, under the id of a file found there, to look up other files
 * after the process is gone. Takes ownership of the descriptor. Keeps each folder once, and only
 * some hundred of them. Returns true for a new one.
 */
bool file_set_add_root(struct file_set *files, uint32_t id, int fd);
/* Returns a borrowed descriptor; 0: none was added. */
int file_set_find_root(const struct file_set *files, uint32_t id);
/* The same by pid, for code without a file. A later process with the same pid replaces it. */
bool file_set_add_process_root(struct file_set *files, uint32_t pid, int fd);
int file_set_find_process_root(const struct file_set *files, uint32_t pid);
/* Takes ownership of a descriptor, only to keep it open. */
void file_set_hold(struct file_set *files, int fd);
/*
 * Returns a hard limit of open files with room for that many more: a power of two, at least 4096.
 */
#define FILE_LIMIT_MAX (1u << 30)
uint32_t file_set_limit_wanted(uint32_t missing);
/* Returns the number of files closed for lack of room. */
uint32_t file_set_dropped(const struct file_set *files);
