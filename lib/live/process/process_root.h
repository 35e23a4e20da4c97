/* SPDX-License-Identifier: MIT */
/* The root folder of a process, where that is another than ours: a container's, a chroot's. */
#ifndef PROF_LIB_LIVE_PROCESS_PROCESS_ROOT_H
#define PROF_LIB_LIVE_PROCESS_PROCESS_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/file_set.h"

/*
 * Keeps it under that id of a module, or under the pid itself, so that files can be looked for
 * there when the process is gone. With `has_mounts`, with all that is mounted below it: the mount
 * namespace lives on for as long as the set, and what it has mounted is busy.
 */
void process_root_keep_for_module(struct file_set *files, uint32_t id, uint32_t pid,
				  bool has_mounts);
void process_root_keep(struct file_set *files, uint32_t pid, bool has_mounts);

#endif
