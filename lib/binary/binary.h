/* SPDX-License-Identifier: MIT */
/*
 * One opened ELF file: identity, segments, sections. The only room that knows libelf. The file is
 * untrusted; nothing in it can make these functions fail in another way than by returning.
 */
#ifndef PROF_LIB_BINARY_BINARY_H
#define PROF_LIB_BINARY_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#define BUILD_ID_MAX 20

struct binary_segment {
	uint64_t file_offset, file_size, vaddr;
	bool executable;
};

/* What a recorder needs to know of a mapped file, read with a few pread() calls. */
struct binary_summary {
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none */
	uint16_t machine; /* e_machine */
	bool is_64bit;
	struct binary_segment *segments; /* PT_LOADs in file order; owned */
	size_t segment_count; /* at most 1024 are read */
};

/* -ENOEXEC where it is no ELF file of this machine's byte order. fd is borrowed. */
int binary_summarize(int fd, struct binary_summary *summary, struct error *err);
void binary_summary_release(struct binary_summary *summary);

/* "1a2b…", lower case; text has room for 2 * BUILD_ID_MAX + 1. */
void build_id_to_text(const uint8_t *build_id, size_t size, char *text);

#endif
