/* SPDX-License-Identifier: MIT */
/* Contents of files and machine code of functions, from captures, files and servers. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"
#include "lib/base/identity.h"
#include "lib/code/files/file_set.h"
#include "lib/model/tables/modules.h"

/* Limits for bytes of one embedded file, and of all. */
#define KEPT_FILE_MAX ((uint64_t)64 << 20)
#define KEPT_ALL_MAX ((uint64_t)256 << 20)

/* The files of a capture, in memory. A zeroed struct is empty. */
struct read_contents {
	VEC(struct {
		uint32_t module_id;
		int fd;
		uint64_t bytes; /* bytes of memory, in whole pages */
		uint64_t used; /* number of the call that last used the file */
	})
	rows;
	uint64_t bytes; /* bytes of all files */
	uint64_t calls;
};

void read_contents_release(struct read_contents *c);
/* Takes a valid record of an untrusted file. */
void read_contents_take(struct read_contents *c, const struct rec_file *rec);
/* Returns a borrowed descriptor; -1 if there is none. */
int read_contents_find(struct read_contents *c, uint32_t module);
/* Drops the least recently used files until the others have at most `bytes`. */
void read_contents_trim(struct read_contents *c, uint64_t bytes);

/* Machine code of a function, from the local file or dump of its module. */

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
