/* SPDX-License-Identifier: MIT */
/*
 * Names of processes. A process is called as its first thread, which exec names after the program.
 * Programs that rename that thread as they do their others ("MainThread") leave no name for the
 * process: it keeps the program's. Those that mean the process give it a title, in place of its
 * arguments as well, or one that begins with the program ("tmux: server"). A process that was
 * forked without an exec names itself, too: there is nothing else to tell it from its parent.
 */
#ifndef PROF_LIB_STREAM_PROCESS_PROCESS_NAME_H
#define PROF_LIB_STREAM_PROCESS_PROCESS_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* In the kernel's flags of a task: forked, and no exec since. */
#define TASK_FORKED_NO_EXEC 0x40

/*
 * Tells whether `name`, that of the first thread of a program, names the process, too. `program` is
 * the name until now, or that of the executed file; "": unknown, then every name does. `arguments`:
 * each terminated, `size` bytes in all; 0: unknown. The kernel has truncated `name`, perhaps
 * `program`.
 */
bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size);

#endif
