/* SPDX-License-Identifier: MIT */
/*
 * Names of processes. A process is named by its first thread, which exec names after the program.
 * Programs that rename all their threads, the first one included ("MainThread"), keep the program's
 * name for the process. A name meant for the process is a title, which also replaces its arguments,
 * or begins with the program's name ("tmux: server"). A process forked without an exec may be
 * renamed as well: nothing else distinguishes it from its parent.
 */
#ifndef PROF_LIB_STREAM_PROCESS_PROCESS_NAME_H
#define PROF_LIB_STREAM_PROCESS_PROCESS_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* In the kernel's flags of a task: forked, and no exec since. */
#define TASK_FORKED_NO_EXEC 0x40

/*
 * True if `name`, given to a program's first thread, also names the process. `program` is the
 * previous name, or that of the executed file; "": unknown, any name fits. `arguments`: each
 * terminated, `size` bytes in all; 0: unknown. The kernel may have truncated both names.
 */
bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size);

#endif
