/* SPDX-License-Identifier: MIT */
/* Separate files with the symbols and debug information that were stripped from a module. */
#ifndef PROF_SYMBOLIZE_DEBUG_FILE_H
#define PROF_SYMBOLIZE_DEBUG_FILE_H

#include "lib/binary/binary.h"
#include "symbolize/symbolizer.h"

struct debug_file {
	int fd;
	struct binary *binary; /* NULL: none */
};

/*
 * Looks for .build-id/xx/yyy.debug in the debug directories, then in /usr/lib/debug. Only a regular
 * file that bears the module's build id itself is taken. -ENOENT where there is none.
 */
int debug_file_open(struct debug_file *f, const struct symbolizer_input *input, struct error *err);
/* The same for any build id and directories (NULL-terminated or NULL). */
int debug_file_open_by_id(struct debug_file *f, const uint8_t *build_id, size_t size,
			  const char *const *dirs, struct error *err);
/* One that was never opened, or not found, is fine. */
void debug_file_close(struct debug_file *f);

#endif
