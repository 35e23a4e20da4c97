/* SPDX-License-Identifier: MIT */
/*
 * Files that a command will map, as far as known before it is executed: good only for preparations
 * that save time.
 */
#ifndef PROF_LIB_LIVE_PROCESS_COMMAND_FILES_H
#define PROF_LIB_LIVE_PROCESS_COMMAND_FILES_H

/* `fd` is borrowed, and open for reading. */
typedef void command_file_fn(void *ctx, int fd);

/*
 * Passes on the program, of a script its interpreter, and the libraries that it asks for, from
 * where the dynamic loader would find most of them.
 */
void command_files_find(const char *command, command_file_fn *fn, void *ctx);

#endif
