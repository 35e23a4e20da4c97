/* SPDX-License-Identifier: MIT */
/* Files with machine code that are not here, from debuginfod servers. */
#ifndef PROF_LIB_RECORDING_WORKPLACE_CODE_FETCH_H
#define PROF_LIB_RECORDING_WORKPLACE_CODE_FETCH_H

#include <stdbool.h>

#include "lib/base/identity.h"
#include "lib/model/tables/modules.h"

/* May servers have its code? Generated code and that of kernel modules, none has. */
bool code_fetch_is_possible(const struct module *module);
/*
 * Gets the file with the module's code; the kernel's is its vmlinux. `owner`: the user to get it
 * for; NULL: the process's. Returns a descriptor; -1: there are no servers, or none has it.
 */
int code_fetch(const struct module *module, const struct identity *owner);

#endif
