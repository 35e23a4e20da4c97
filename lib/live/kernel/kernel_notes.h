/* SPDX-License-Identifier: MIT */
/* Reads the build id of the running kernel or of a module from sysfs. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_NOTES_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_NOTES_H

#include "lib/live/process/module_registry.h"

/* Reads the build id from a file of ELF notes. Leaves *module unchanged if it has none. */
void kernel_notes_read_build_id(const char *path, struct special_module *module);

#endif
