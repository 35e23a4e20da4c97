/* SPDX-License-Identifier: MIT */
/*
 * Names of processes. A process is named after its first thread, which exec names after the
 * program. If a program renames all its threads, including the first one ("MainThread"), the
 * process keeps the program's name. A name is meant for the process if it is a title, which also
 * replaces the arguments, or if it begins with the program's name ("tmux: server"). A process
 * forked without an exec may also be renamed, because nothing else distinguishes it from its
 * parent.
 */
#pragma once

#include "lib/base/base.h"

/* Kernel task flag: forked, without an exec since. */
#define TASK_FORKED_NO_EXEC 0x40

/*
 * True if `name`, given to a program's first thread, also names the process. `program` is the
 * previous name, or that of the executed file; "": unknown, any name fits. `arguments` are `size`
 * bytes of terminated strings; 0: unknown. The kernel may have truncated both names.
 */
bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size);
