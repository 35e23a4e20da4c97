/* SPDX-License-Identifier: MIT */
/*
 * Data in a page: elements that hold gzip as base64, which no browser runs, each with an id. They
 * stay where they are, also if a browser writes the page anew.
 */
#ifndef PROF_LIB_FORMAT_PAGE_BLOCKS_H
#define PROF_LIB_FORMAT_PAGE_BLOCKS_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/base/strbuf.h"

/* Writes bytes that are gzip already. */
void block_write_packed(struct outfile *out, const char *id, const void *data, size_t size);
/* Packs the bytes and writes them. */
int block_write(struct outfile *out, const char *id, const void *data, size_t size,
		struct error *err);
/*
 * Finds and unpacks a block; *data is the caller's. -ENOENT: the page has none of that id;
 * -EBADMSG: it is damaged.
 */
int block_read(const char *text, size_t text_size, const char *id, char **data, size_t *size,
	       struct error *err);

#endif
