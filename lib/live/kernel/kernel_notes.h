/* SPDX-License-Identifier: MIT */
/* The build id of the running kernel, or of one of its modules, as sysfs shows it. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_NOTES_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_NOTES_H

#include "lib/live/process/module_registry.h"

/* From a file of ELF notes; unchanged where it has none. */
void kernel_notes_read_build_id(const char *path, struct special_module *module);

#endif
