/* SPDX-License-Identifier: MIT */
/* Forgets files that nothing has mapped for long, in a recording that keeps only its end. */
#ifndef PROF_LIB_LIVE_UNWIND_UNUSED_FILES_H
#define PROF_LIB_LIVE_UNWIND_UNUSED_FILES_H

#include <stdint.h>

#include "lib/live/process/module_registry.h"
#include "lib/live/unwind/spaces.h"
#include "lib/code/unwind/native/native_tables.h"

void unused_files_forget(const struct spaces *spaces, struct native_tables *tables,
			 struct module_registry *files, uint64_t since_ns, uint64_t now);

#endif
