/* SPDX-License-Identifier: MIT */
/*
 * Files that a command will probably map, found before it is executed. Use them only for
 * time-saving preparations.
 */
#pragma once

/* `fd` is borrowed, and open for reading. */
typedef void command_file_fn(void *ctx, int fd);

/*
 * Passes on the program, or a script's interpreter, and the libraries it needs, from the folders
 * where the dynamic loader finds most of them.
 */
void command_files_find(const char *command, command_file_fn *fn, void *ctx);
