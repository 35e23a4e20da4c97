/* SPDX-License-Identifier: MIT */
/* Machine code of a function, from the local file or dump of its module. */
#pragma once

#include "lib/base/identity.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/modules.h"

/* Downloads missing files with machine code from debuginfod servers. */

/* False for generated code and kernel modules, which no server has. */
bool code_fetch_is_possible(const struct module *module);
/*
 * Downloads the file with the module's code; for the kernel, its vmlinux. `owner`: the user to run
 * as; NULL: the process's. Returns a descriptor; -1 if there are no servers or none has the file.
 */
int code_fetch(const struct module *module, const struct identity *owner);

/* Maximum size of a function, in bytes. */
#define FUNCTION_CODE_MAX ((uint64_t)1 << 20)

struct function_code {
	uint8_t *bytes; /* owned */
	size_t size; /* less than requested if the file ends earlier */
	uint16_t machine; /* e_machine */
	/*
	 * RVA of the first byte; of generated code, its address at run time, so that jump targets
	 * are right.
	 */
	uint64_t address;
};

/*
 * Returns -ENOENT with a reason if the file is missing, or -ERANGE if it has no code at that
 * address.
 */
int function_code_read(struct function_code *code, const struct module *module, const char *name,
		       const struct file_set *files, uint64_t rva, uint64_t size,
		       struct error *err);
