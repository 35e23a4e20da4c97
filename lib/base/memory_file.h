/* SPDX-License-Identifier: MIT */
/* Files in memory: what is written into one can be packed, sent, mapped or taken as a text. */
#ifndef PROF_LIB_BASE_MEMORY_FILE_H
#define PROF_LIB_BASE_MEMORY_FILE_H

#include "lib/base/outfile.h"

typedef int memory_file_writer(void *ctx, struct outfile *out, struct error *err);

/*
 * Calls write() once. Returns the descriptor, which the caller closes, and sets *size; a negative
 * errno with err set if something failed. `what` stands in messages: "the page".
 */
int memory_file_write(const char *what, bool gzip, memory_file_writer *write, void *ctx,
		      uint64_t *size, struct error *err);
/* The same for bytes that are there. */
int memory_file_pack(const char *what, const void *data, size_t data_size, uint64_t *size,
		     struct error *err);
/* Sets *text to the file's bytes, terminated, which the caller frees. */
int memory_file_read(int fd, const char *what, size_t size, char **text, struct error *err);

#endif
