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
 * where the dynamic loader finds most of them. Then those of other programs that the command may
 * start: each one that is named by a word of its arguments ("sh -c 'cd x && node y.js'", "env
 * node"), or at the beginning of a script of a shell. Each file is passed on once; `argv` ends with
 * NULL.
 */
void command_files_find(char *const *argv, command_file_fn *fn, void *ctx);
