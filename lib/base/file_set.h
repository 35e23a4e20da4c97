/* SPDX-License-Identifier: MIT */
/*
 * Open descriptors by number (of a module), held so that a file can be read after its name or its
 * process is gone. The soft limit of descriptors is raised to the hard one. Where that is reached,
 * the process that has most files for itself loses its oldest one; what several processes have
 * comes last, that which none has used for longest first. It is counted.
 */
#ifndef PROF_LIB_BASE_FILE_SET_H
#define PROF_LIB_BASE_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_set;

/*
 * Raises the process's RLIMIT_NOFILE soft limit, which children started afterwards inherit; keeps
 * `reserve` descriptors for other uses.
 */
struct file_set *file_set_new(unsigned int reserve);
/* Closes them all. NULL is fine. */
void file_set_free(struct file_set *files);
/* Takes the descriptor over. An earlier one of that id is closed. It is no process's. */
void file_set_add(struct file_set *files, uint32_t id, int fd);
/* The same of a file that this process has mapped. */
void file_set_add_for(struct file_set *files, uint32_t id, uint32_t pid, int fd);
/* A process has mapped it (again): one more makes it everybody's. */
void file_set_use(struct file_set *files, uint32_t id, uint32_t pid);
/*
 * From now on only these are needed, in ascending order. Where some had to be closed, closes others
 * instead and opens them again, by path and identity: see reopen.h. Else does nothing.
 */
void file_set_need(struct file_set *files, const uint32_t *ids, size_t count);
/* Borrowed descriptor, or -1: never had one, or closed for want of room. */
int file_set_find(const struct file_set *files, uint32_t id);
/*
 * The root folder of the process in which the file of that number was met, held so that other files
 * can be looked for there after the process is gone. Takes the descriptor over; each folder is kept
 * once, and only some hundred of them. True where it was not kept before.
 */
bool file_set_add_root(struct file_set *files, uint32_t id, int fd);
/* Borrowed descriptor, or 0: none was added. */
int file_set_find_root(const struct file_set *files, uint32_t id);
/* The same of a process, by its pid, for what lies in no file; a later one of that pid counts. */
bool file_set_add_process_root(struct file_set *files, uint32_t pid, int fd);
int file_set_find_process_root(const struct file_set *files, uint32_t pid);
/* Takes over a descriptor that is only to be kept open. */
void file_set_hold(struct file_set *files, int fd);
/* A hard limit of open files that is above ours by that many: a power of two, 4096 at least. */
#define FILE_LIMIT_MAX (1u << 30)
uint32_t file_set_limit_wanted(uint32_t missing);
/* How many were closed for want of room. */
uint32_t file_set_dropped(const struct file_set *files);

#endif
