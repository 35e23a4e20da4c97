/* SPDX-License-Identifier: MIT */
/* The machine code of a function, from the file or dump that the profile's module is here. */
#ifndef PROF_LIB_RECORDING_WORKPLACE_FUNCTION_CODE_H
#define PROF_LIB_RECORDING_WORKPLACE_FUNCTION_CODE_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/modules.h"

/* Files with machine code that are not here, from debuginfod servers. */

/* May servers have its code? Generated code and that of kernel modules, none has. */
bool code_fetch_is_possible(const struct module *module);
/*
 * Gets the file with the module's code; the kernel's is its vmlinux. `owner`: the user to get it
 * for; NULL: the process's. Returns a descriptor; -1: there are no servers, or none has it.
 */
int code_fetch(const struct module *module, const struct identity *owner);

/* More than any function has. */
#define FUNCTION_CODE_MAX ((uint64_t)1 << 20)

struct function_code {
	uint8_t *bytes; /* owned */
	size_t size; /* less than asked for where the file ends */
	uint16_t machine; /* e_machine */
	/* RVA of the first byte; where it was, of generated code: as its jumps see it. */
	uint64_t address;
};

/* -ENOENT with a reason: the file is not here; -ERANGE: no code is there. */
int function_code_read(struct function_code *code, const struct module *module, const char *name,
		       const struct file_set *files, uint64_t rva, uint64_t size,
		       struct error *err);

#endif
